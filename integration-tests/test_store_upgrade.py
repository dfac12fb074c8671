"""A changed store declaration is refused, forecast, and then converted without losing a record of the live topic."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import fastavro
import psutil
import pytest
from confluent_kafka import Producer
from faults.points import VARIABLE, Action, Armed, Armory, Point
from job_process import PYTHON_PATH
from own_topics import settings_of
from topic_reading import Decoder, fold, parse, read_topic

from forebay.kafka.admin import TopicAdmin
from forebay.platform import Endpoints
from forebay.runtime.driver.checkpoint import held_checkpoint

HOUR = 3_600_000
CHANGELOG = "dish-prices-prices-changelog"


def contract(name: str, *fields: str) -> str:
    described = [{"name": field, "type": "string" if field == "event_id" else "long"} for field in fields]
    return json.dumps({"type": "record", "name": name, "namespace": "dish_prices", "fields": described})


CONTRACTS = {
    "DishEvent": contract("DishEvent", "event_id", "cents", "timestamp"),
    "Price": contract("Price", "cents"),
    "Answer": contract("Answer", "cents", "as_of"),
}

MODEL = """
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DishEvent:
    event_id: str
    cents: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class Price:
    cents: int


@dataclass(frozen=True, slots=True)
class Answer:
    cents: int
    as_of: int


@dataclass(frozen=True, slots=True)
class Settings:
    pass
"""

LOGIC = """
from dish_prices.model import Answer, Price
from forebay.processor import Processor
from forebay.stores import KeyValueStore, TimestampedKeyValueStore, VersionedKeyValueStore


class Prices(Processor):
    prices = {declared}

    def __init__(self, settings):
        pass

    def process(self, event, ctx):
        if event.cents:
            {put}
        else:
            found = {get}
            ctx.forward(Answer(-1 if found is None else {cents}, event.timestamp))
"""

PLAIN = LOGIC.format(
    declared='KeyValueStore("prices", Price)',
    put="self.prices.put(ctx.key, Price(event.cents))",
    get="self.prices.get(ctx.key)",
    cents="found.cents",
)
TIMESTAMPED = LOGIC.format(
    declared='TimestampedKeyValueStore("prices", Price)',
    put="self.prices.put(ctx.key, Price(event.cents), event.timestamp)",
    get="self.prices.get(ctx.key)",
    cents="found.value.cents",
)
VERSIONED = LOGIC.format(
    declared=f'VersionedKeyValueStore("prices", Price, history_retention_ms={HOUR})',
    put="self.prices.put(ctx.key, Price(event.cents), event.timestamp)",
    get="self.prices.get(ctx.key, event.timestamp)",
    cents="found.value.cents",
)

JOB = """
from dish_prices.logic import Prices
from dish_prices.model import Answer, DishEvent, Settings
from forebay.job import Job

JOB = Job(inputs={"dish_events": DishEvent}, outputs={"dish_answers": Answer}, settings=Settings, processor=Prices)
"""

SERVICE = """
from forebay.catalog import Service, Topic

SERVICE = Service(
    name="dish-prices",
    summary="prices of dishes",
    inputs=(Topic("dish_events", "DishEvent", partitions=1),),
    outputs=(Topic("dish_answers", "Answer", partitions=1),),
    stores={"prices": "Price"},
    job="dish_prices.job",
)
"""


class Dishes:
    """A service in a separate folder, with its commands and its topics."""

    def __init__(self, folder: Path, endpoints: Endpoints) -> None:
        self.folder = folder
        self.settings = settings_of(endpoints)
        self._registry = endpoints.registry_url
        self._connection = [
            *("--bootstrap-servers", endpoints.bootstrap_servers, "--schema-registry-url", endpoints.registry_url),
            *("--home", str(folder / "home")),
        ]
        self.checkpoint = str((folder / "home" / "checkpoints" / "dish-prices").resolve())
        package = folder / "dish_prices"
        (package / "avro").mkdir(parents=True)
        for name, text in CONTRACTS.items():
            (package / "avro" / f"{name}.avsc").write_text(text)
        for name, text in {"__init__": "", "model": MODEL, "job": JOB, "service": SERVICE}.items():
            (package / f"{name}.py").write_text(text)
        self._events = 0

    def release(self, logic: str) -> None:
        (self.folder / "dish_prices" / "logic.py").write_text(logic)

    def forebay(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command, environment = self._command(*arguments), self._environment()
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def upgrade_killed_before_its_snapshot(self) -> None:
        """Convert the rows, and kill all processes after this is committed but before the snapshot is written."""
        armory = Armory(self.folder / "armory")
        armory.directory.mkdir(exist_ok=True)
        armory.arm(Armed(Point.BEFORE_SNAPSHOT, Action.STALL, seconds=600.0))
        here = Path(__file__).parent
        hooks = {VARIABLE: str(armory.directory), "PYTHONPATH": os.pathsep.join([str(here / "faults/hook"), str(here)])}
        command = self._command("store", "upgrade", "dish-prices")
        with (self.folder / "killed.log").open("wb") as log:
            driver = psutil.Popen(command, env=self._environment(hooks), stdout=log, stderr=log)
        deadline = time.monotonic() + 150
        while armory.fired_at() is None:
            assert driver.poll() is None, (self.folder / "killed.log").read_text()
            assert time.monotonic() < deadline, "it did not write its snapshot"
            time.sleep(0.05)
        for process in [driver, *driver.children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        driver.wait(30)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "forebay.cli.main", *arguments, *self._connection]

    def _environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        more = more or {}
        return {
            **os.environ,
            **more,
            "PYTHONPATH": os.pathsep.join([*filter(None, [more.get("PYTHONPATH", "")]), str(self.folder), PYTHON_PATH]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "FOREBAY_SERVICES": "dish_prices.service",
        }

    def succeed(self, *arguments: str) -> list[str]:
        done = self.forebay(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    def run(self) -> None:
        self.succeed("run", "dish-prices", "--trigger", "available-now")

    def send(self, *events: tuple[str, int, int]) -> None:
        """Write events (dish, cents, timestamp)."""
        producer = Producer(self.settings.producer())
        schema, number = parse(CONTRACTS["DishEvent"]), self._register()
        for dish, cents, timestamp in events:
            self._events += 1
            value = io.BytesIO()
            record = {"event_id": f"e-{self._events}", "cents": cents, "timestamp": timestamp}
            fastavro.schemaless_writer(value, schema, record)
            producer.produce("dish_events", b"\0" + number.to_bytes(4, "big") + value.getvalue(), dish)
        assert producer.flush(30) == 0

    def answers(self) -> list[dict[str, Any]]:
        decode = Decoder(self._registry).decode
        return [decode(message.value() or b"") for message in read_topic(self.settings, "dish_answers")[0]]

    def changelog(self) -> dict[bytes, bytes]:
        return fold(read_topic(self.settings, CHANGELOG)[0])

    def records(self) -> int:
        return sum(len(read_topic(self.settings, topic)[0]) for topic in (CHANGELOG, "dish-prices-0-task"))

    def lag_ms(self) -> str:
        return TopicAdmin(self.settings).describe([CHANGELOG])[CHANGELOG].config["min.compaction.lag.ms"]

    def _register(self) -> int:
        self._ask("PUT", "config/dish_events-value", {"compatibility": "BACKWARD"})
        return int(self._ask("POST", "subjects/dish_events-value/versions", {"schema": CONTRACTS["DishEvent"]})["id"])

    def _ask(self, method: str, path: str, body: dict[str, str]) -> dict[str, Any]:
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = Request(f"{self._registry}/{path}", json.dumps(body).encode(), headers, method=method)
        with urlopen(request, timeout=10) as response:
            return dict(json.load(response))


@pytest.fixture
def dishes(endpoints: Endpoints, tmp_path: Path) -> Iterator[Dishes]:
    dishes = Dishes(tmp_path, endpoints)
    dishes.release(PLAIN)
    dishes.succeed("topics", "create", "dish-prices")
    yield dishes
    topics = ("dish_events", "dish_answers", "dish-prices.errors", "dish-prices.late", CHANGELOG, "dish-prices-0-task")
    TopicAdmin(dishes.settings).delete(topics)


@pytest.mark.timeout(900)
def test_a_plain_store_becomes_a_versioned_one_and_a_plain_one_again(dishes: Dishes) -> None:
    dishes.send(("soup", 100, 1_000), ("stew", 200, 2_000))
    dishes.run()

    dishes.release(VERSIONED)
    dishes.send(("soup", 150, 5_000), ("soup", 0, 4_000), ("soup", 0, 6_000), ("stew", 0, 1_999))
    refused = dishes.forebay("run", "dish-prices", "--trigger", "available-now")
    assert refused.returncode == 1
    assert "store prices holds rows of the format 'key-value', but is declared as 'versioned" in refused.stderr
    assert "forebay store upgrade dish-prices" in refused.stderr

    before = dishes.records()
    foretold = dishes.succeed("store", "upgrade", "dish-prices", "--dry-run")
    assert foretold == [
        f"dish-prices-0-0: store prices: 2 rows, recorded key-value, declared versioned history_retention_ms={HOUR}: "
        "2 rows would be read, 2 written or kept, 0 dropped",
        f"{CHANGELOG}: min.compaction.lag.ms is 0, needed: {25 * HOUR}: would be set",
        "nothing was changed",
    ]
    assert (dishes.records(), dishes.lag_ms(), dishes.answers()) == (before, "0", [])

    with held_checkpoint(dishes.checkpoint):
        busy = dishes.forebay("store", "upgrade", "dish-prices")
    assert (busy.returncode, "stop it first" in busy.stderr) == (1, True), busy.stderr

    assert dishes.succeed("store", "upgrade", "dish-prices") == [
        f"dish-prices-0-0: store prices: key-value -> versioned history_retention_ms={HOUR}: "
        "2 rows read, 2 written or kept, 0 dropped",
        f"{CHANGELOG}: min.compaction.lag.ms is 0, needed: {25 * HOUR}: set",
    ]
    as_of = [{"cents": 100, "as_of": 4_000}, {"cents": 150, "as_of": 6_000}, {"cents": -1, "as_of": 1_999}]
    assert dishes.answers() == as_of
    assert dishes.lag_ms() == str(25 * HOUR)
    assert len(dishes.changelog()) == 3

    dishes.release(PLAIN)
    assert dishes.succeed("store", "upgrade", "dish-prices") == [
        f"dish-prices-0-0: store prices: versioned history_retention_ms={HOUR} -> key-value: "
        "3 rows read, 2 written or kept, 1 dropped"
    ]
    assert set(dishes.changelog()) == {b"soup", b"stew"}
    dishes.send(("soup", 0, 7_000), ("stew", 0, 1))
    dishes.run()
    assert dishes.answers() == [*as_of, {"cents": 150, "as_of": 7_000}, {"cents": 200, "as_of": 1}]
    assert dishes.succeed("store", "upgrade", "dish-prices") == ["nothing was converted"]


@pytest.mark.timeout(900)
def test_upgrade_killed_before_its_snapshot_leaves_readable_rows(dishes: Dishes) -> None:
    dishes.send(("soup", 100, 1_000), ("stew", 200, 2_000))
    dishes.run()

    dishes.release(TIMESTAMPED)
    dishes.send(("soup", 150, 5_000))
    dishes.upgrade_killed_before_its_snapshot()
    dishes.send(("soup", 0, 6_000), ("stew", 0, 7_000))
    dishes.run()
    first = [{"cents": 150, "as_of": 6_000}, {"cents": 200, "as_of": 7_000}]
    assert dishes.answers() == first

    dishes.release(PLAIN)
    dishes.upgrade_killed_before_its_snapshot()
    assert dishes.succeed("store", "upgrade", "dish-prices") == ["nothing was converted"]
    dishes.send(("soup", 0, 8_000), ("stew", 0, 9_000))
    dishes.run()
    assert dishes.answers() == [*first, {"cents": 150, "as_of": 8_000}, {"cents": 200, "as_of": 9_000}]
