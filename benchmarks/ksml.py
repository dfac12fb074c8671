"""CPU time per event of a job with the tutorial's KSML definition of user sessions, and of the service in Python.

    python -m benchmarks.ksml [--events 300000] [--keys 1000]

The job runs before events are sent, so that its start is not part of the CPU time per event. CPU time is that of the
job's process tree, which consists of the JVM, the driver, and the Python workers with their Kafka clients.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import psutil
from confluent_kafka import Producer

from benchmarks.bench import SERVICE, TOPIC, JobProcess, platform
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.settings import KafkaSettings
from forebay.producing.base import Options
from forebay.producing.sources import generate
from user_sessions.model import UserActivity

DEFINITION = Path(__file__).parents[1] / "tests" / "ksml" / "definitions" / "user-sessions.yaml"
KSML_TOPIC = "ksml_user_activity"
KSML_US = 1_900
"""CPU time per event of KSML's own runner and its Kafka client for this tutorial, which was measured separately."""
_SECONDS = 900.0


@click.command()
@click.option("--events", default=300_000, help="Records.")
@click.option("--keys", default=1_000, help="Users.")
def main(events: int, keys: int) -> None:
    """Run the benchmark."""
    records = [entry.value for entry in generate(TOPIC, Options(count=events, keys=keys, seed=1))]
    print(f"{len(records):,} events, {keys:,} users, 4 partitions, load {psutil.getloadavg()[0]:.1f}", flush=True)
    figures = []
    with platform() as (home, kafka):
        codec = registry_codec(
            kafka,
            SERVICE,
            UserActivity,
            register_contract(SchemaRegistry(kafka.registry()), SERVICE, "UserActivity", TOPIC).schema_id,
        )
        for name, topic, encode, command in (
            ("by hand", TOPIC, codec.encode, ("run", SERVICE)),
            (
                "definition",
                KSML_TOPIC,
                as_json,
                ("ksml", "run", str(DEFINITION), "--application", "ksml", "--tasks", "4"),
            ),
        ):
            figures.append(measure(home, kafka, name, topic, encode, command, records))
    hand, definition = figures
    print(
        f"  ratio to the service by hand {definition / hand:.2f}; "
        f"KSML takes {KSML_US:,} us, {KSML_US / definition:.0f} x"
    )


def measure(
    home: Path,
    kafka: KafkaSettings,
    name: str,
    topic: str,
    encode: Callable[[Any], bytes],
    command: tuple[str, ...],
    records: list[Any],
) -> float:
    """Run a job and send the records. Print and return its CPU time per event (µs), without its start."""
    job = JobProcess(home, *command[1:], command=command[0])
    send(kafka, topic, encode, records[:1])
    wait(job, 1)
    start, begun = dict(job.cpu()), time.monotonic()
    send(kafka, topic, encode, records)
    wait(job, len(records) + 1)
    used, seconds = job.cpu(), time.monotonic() - begun
    job.stop()
    us = {kind: (used[kind] - start.get(kind, 0.0)) / len(records) * 1e6 for kind in used}
    loop = job.value("forebay_task_cpu_seconds_total", phase="process") / len(records) * 1e6
    print(
        f"  {name}: {sum(us.values()):.1f} us CPU per event (JVM {us.get('jvm', 0):.1f}, Python workers "
        f"{us.get('python', 0):.1f}, of it the loops' decoding, logic, encoding {loop:.1f}; driver "
        f"{us.get('driver', 0):.1f}) in {seconds:.0f} s; its start {sum(start.values()):.1f} s of CPU; load "
        f"{psutil.getloadavg()[0]:.1f}",
        flush=True,
    )
    return sum(us.values())


def as_json(record: UserActivity) -> bytes:
    """Return an activity in the format of the definition's topic."""
    return json.dumps(
        {
            "event_id": record.event_id,
            "action": record.action,
            "session_id": record.session_id,
            "duration_ms": record.duration_ms,
            "page": record.page or "/",
            "device": record.device_type,
            "timestamp": record.timestamp,
        }
    ).encode()


def send(kafka: KafkaSettings, topic: str, encode: Callable[[Any], bytes], records: list[Any]) -> None:
    """Send records with the user as key."""
    producer = Producer(kafka.producer())
    for record in records:
        while True:
            try:
                producer.produce(topic, encode(record), record.user_id.encode(), timestamp=record.timestamp)
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    if producer.flush(60):
        raise SystemExit(f"{topic}: the broker did not take all records")


def wait(job: JobProcess, records: int) -> None:
    """Wait until a job has processed the number of records."""
    deadline = time.monotonic() + _SECONDS
    while job.value("forebay_records_in_total") < records:
        if time.monotonic() > deadline or job.process.poll() is not None:
            raise SystemExit(f"the job does not get on: {job.log()[-2000:]}")
        time.sleep(0.2)


if __name__ == "__main__":
    main(standalone_mode=False)
