"""A job is killed before it has read its repartition topic, and restarted with another format for these records."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from job_process import JobProcess
from own_service import own_service
from own_topics import settings_of
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints

pytestmark = pytest.mark.timeout(600)

SERVICE, NUMBERS, RESULTS, TASKS = "formats", "formats-numbers", "formats-results", 2
REPARTITION = f"{SERVICE}-by-number-repartition"
MODULE = """
import time
from dataclasses import dataclass
from pathlib import Path

from forebay.builder import Topology, job
from forebay.formats import DOUBLE, LONG


@dataclass(frozen=True, slots=True)
class Nothing:
    pass


def read(_, number):
    while not Path({gate!r}).exists():
        time.sleep(0.05)
    return str(number)


def build(_):
    t = Topology()
    numbers = t.stream("formats-numbers", str).map_values(lambda _, text: {python}(text), {kind})
    moved = numbers.select_key(lambda _, number: str(number)[0], str).repartition("by-number")
    moved.map_values(read, str).to("formats-results")
    return t


JOB = job(Nothing, build)
"""


def send(settings: KafkaSettings, count: int) -> None:
    producer = Producer(settings.producer())
    for number in range(count):
        producer.produce(NUMBERS, str(number), str(number), number % TASKS, timestamp=1_000 + number)
    assert producer.flush(30) == 0


def values(settings: KafkaSettings, topic: str) -> list[str]:
    """Return the sorted values of a topic's records, without nulls."""
    read = [message.value() for messages in read_topic(settings, topic).values() for message in messages]
    return sorted(value.decode(errors="replace") for value in read if value is not None)


def test_unread_records_of_another_format_are_refused_until_they_are_read(
    endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, module, gate = settings_of(endpoints), tmp_path / "formats_topology.py", tmp_path / "gate"
    monkeypatch.syspath_prepend(str(tmp_path))

    def release(kind: str, python: str) -> None:
        module.write_text(MODULE.format(gate=str(gate), kind=kind, python=python))

    def finish() -> tuple[int, str]:
        job = JobProcess([*command, "--trigger", "available-now"], tmp_path / "job.log", environment)
        try:
            return job.finish(), job.text()
        finally:
            job.kill()

    release("LONG", "int")
    with own_service(SERVICE, "formats_topology", TASKS, endpoints, tmp_path) as service:
        environment = {**service.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [*service.command, "--slots", "2"]
        send(settings, 20)
        job = JobProcess(command, tmp_path / "job.log", environment)
        try:
            job.until(lambda: len(values(settings, REPARTITION)) == 20, "all records are repartitioned")
        finally:
            job.kill()
        assert values(settings, RESULTS) == []

        release("DOUBLE", "float")
        code, text = finish()
        refusal = f"{REPARTITION} holds rows of long, but is declared with double, and 20 records are unread (partition"
        assert code != 0, text
        assert refusal in text
        assert len(values(settings, REPARTITION)) == 20, "the edited version sent records"
        assert values(settings, RESULTS) == []

        release("LONG", "int")
        gate.touch()
        code, text = finish()
        assert code == 0, text
        assert values(settings, RESULTS) == sorted(str(number) for number in range(20))

        release("DOUBLE", "float")
        send(settings, 3)
        code, text = finish()
        assert code == 0, text
        assert values(settings, RESULTS) == sorted([*(str(number) for number in range(20)), "0.0", "1.0", "2.0"])
        assert "the formats of repartition topics were edited" in text
        assert read_topic(settings, f"{SERVICE}.errors") == {0: []}
    sys.modules.pop("formats_topology")
