"""Logic with random numbers and the clock is killed and changed during its lease. Each event counts exactly once."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer
from job_process import PYTHON_PATH, JobProcess
from own_topics import settings_of
from topic_reading import Decoder, PositionWatch, fold, parse, read_topic

from forebay.cli.main import run
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.registry import SchemaRegistry
from forebay.platform import Endpoints
from forebay.serde import Schema

SERVICE = "lottery"
TICKETS, DRAWS = "lottery_tickets", "lottery_draws"
KEYS = 20
START_MS = 1_735_689_600_000


def contract(name: str, **fields: str) -> str:
    described = [{"name": field, "type": kind} for field, kind in fields.items()]
    return json.dumps({"type": "record", "name": name, "namespace": SERVICE, "fields": described})


CONTRACTS = {
    "Ticket": contract("Ticket", event_id="string", timestamp="long"),
    "Draw": contract("Draw", count="long", luck="double", at="long", release="long"),
}

MODEL = """
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ticket:
    event_id: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Draw:
    count: int
    luck: float
    at: int
    release: int


@dataclass(frozen=True, slots=True)
class Settings:
    pass
"""

LOGIC = """
import random
import time

from forebay.processor import Processor
from forebay.stores import KeyValueStore
from lottery.model import Draw


class Drawing(Processor):
    draws = KeyValueStore("draws", Draw)

    def __init__(self, settings):
        pass

    def process(self, event, ctx):
        before = self.draws.get(ctx.key)
        draw = Draw(1 if before is None else before.count + 1, random.random(), time.time_ns(), {release})
        self.draws.put(ctx.key, draw)
        ctx.forward(draw)
"""

JOB = """
from forebay.job import Job
from lottery.logic import Drawing
from lottery.model import Draw, Settings, Ticket

JOB = Job(inputs={"lottery_tickets": Ticket}, outputs={"lottery_draws": Draw}, settings=Settings, processor=Drawing)
"""

CATALOG = """
from forebay.catalog import Service, Topic

SERVICE = Service(
    name="lottery",
    summary="draws",
    inputs=(Topic("lottery_tickets", "Ticket", partitions=2),),
    outputs=(Topic("lottery_draws", "Draw", partitions=2),),
    stores={"draws": "Draw"},
    job="lottery.job",
)
"""


class Lottery:
    """A service in a separate folder, its job, and a load that continues until it is closed."""

    def __init__(self, folder: Path, endpoints: Endpoints) -> None:
        self.folder, self.settings = folder, settings_of(endpoints)
        self.decoder = Decoder(endpoints.registry_url)
        self._connection = [
            *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
            *("--home", str(folder / "home")),
        ]
        package = folder / SERVICE
        (package / "avro").mkdir(parents=True)
        for name, text in CONTRACTS.items():
            (package / "avro" / f"{name}.avsc").write_text(text)
        for name, text in {"__init__": "", "model": MODEL, "job": JOB, "service": CATALOG}.items():
            (package / f"{name}.py").write_text(text)
        self.environment = {
            "PYTHONPATH": os.pathsep.join([str(folder), PYTHON_PATH]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FOREBAY_SERVICES": "lottery.service",
        }
        self.sent = 0
        self._closed = threading.Event()
        self._load = threading.Thread(target=self._feed, daemon=True)
        self._jobs: list[JobProcess] = []

    def release(self, number: int) -> None:
        """Write the logic of another release."""
        (self.folder / SERVICE / "logic.py").write_text(LOGIC.replace("{release}", str(number)))

    def forebay(self, *arguments: str) -> None:
        assert run([*arguments, *self._connection]) == 0

    def job(self, *arguments: str) -> JobProcess:
        given = [SERVICE, *self._connection, "--checkpoint-interval-ms", "600000", *arguments]
        self._jobs.append(JobProcess(given, self.folder / "lottery.log", self.environment))
        return self._jobs[-1]

    def positions(self) -> PositionWatch:
        return PositionWatch(self.settings, [("lottery-0-task", task) for task in range(2)])

    def load(self) -> None:
        self._load.start()

    def close(self) -> None:
        self._closed.set()
        if self._load.ident is not None:
            self._load.join()
        for job in self._jobs:
            job.kill()

    def draws(self) -> dict[str, list[dict[str, Any]]]:
        """Return the draws in the output topic by key, in order."""
        draws = defaultdict(list)
        for messages in read_topic(self.settings, DRAWS).values():
            for message in messages:
                draws[(message.key() or b"").decode()].append(self.decoder.decode(message.value() or b""))
        return draws

    def stored_rows(self) -> dict[str, dict[str, Any]]:
        """Return the store's content from its changelog."""
        changelog = read_topic(self.settings, "lottery-draws-changelog")
        return {
            key.decode(): self.decoder.decode(value)
            for messages in changelog.values()
            for key, value in fold(messages).items()
        }

    def _feed(self) -> None:
        registry = SchemaRegistry(self.settings.registry())
        number = registry.register(f"{TICKETS}-value", Schema(CONTRACTS["Ticket"])).schema_id
        schema, producer = parse(CONTRACTS["Ticket"]), Producer(self.settings.producer())
        while not self._closed.wait(0.05):
            for _ in range(10):
                body = io.BytesIO()
                at = START_MS + self.sent
                fastavro.schemaless_writer(body, schema, {"event_id": f"e-{self.sent}", "timestamp": at})
                value = b"\0" + number.to_bytes(4, "big") + body.getvalue()
                producer.produce(TICKETS, value, f"key-{self.sent % KEYS}", timestamp=at)
                self.sent += 1
            producer.flush(30)


@pytest.fixture
def lottery(endpoints: Endpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lottery]:
    lottery = Lottery(tmp_path, endpoints)
    lottery.release(1)
    monkeypatch.setenv("FOREBAY_SERVICES", "lottery.service")
    monkeypatch.syspath_prepend(str(tmp_path))
    lottery.forebay("topics", "create", SERVICE)
    yield lottery
    lottery.close()
    topics = (TICKETS, DRAWS, "lottery.errors", "lottery.late", "lottery-draws-changelog", "lottery-0-task")
    TopicAdmin(lottery.settings).delete(topics)
    for name in [name for name in sys.modules if name.partition(".")[0] == SERVICE]:
        del sys.modules[name]


def releases_of(draws: dict[str, list[dict[str, Any]]]) -> set[int]:
    return {draw["release"] for drawn in draws.values() for draw in drawn}


@pytest.mark.timeout(580)
def test_nondeterministic_logic_is_exactly_once_across_kills_and_a_redeployment(lottery: Lottery) -> None:
    positions = lottery.positions()
    lottery.load()

    def until_committed(job: JobProcess) -> None:
        wanted = positions.commits() + 20
        job.until(lambda: positions.commits() >= wanted, "commits go through")

    job = lottery.job()
    until_committed(job)
    lottery.release(2)
    for worker in job.workers():
        worker.kill()
    until_committed(job)
    job.until(lambda: 2 in releases_of(lottery.draws()), "the second release draws")
    job.kill()
    lottery.release(3)
    job = lottery.job()
    until_committed(job)
    assert job.terminate() == 0, job.text()
    positions.close()
    lottery.close()
    job = lottery.job("--trigger", "available-now")
    assert job.finish() == 0, job.text()

    draws = lottery.draws()
    assert sum(map(len, draws.values())) == lottery.sent
    assert all([draw["count"] for draw in drawn] == list(range(1, len(drawn) + 1)) for drawn in draws.values())
    assert lottery.stored_rows() == {key: drawn[-1] for key, drawn in draws.items()}, "what was sent is what was kept"
    assert releases_of(draws) == {1, 2, 3}
    lucks = [draw["luck"] for drawn in draws.values() for draw in drawn]
    assert len(set(lucks)) == len(lucks)
