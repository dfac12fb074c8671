"""Invalid records go to the .errors topic unchanged. All records around them are processed."""

from __future__ import annotations

import io
import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pytest
from bench import INPUT, SERVICE, Bench
from confluent_kafka import Message
from service_bench import HOUR_MS
from topic_reading import headers_of, read_topic

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.registry import SchemaRegistry, subject_of
from forebay.kafka.topic_config import set_topic_config
from forebay.kafka.topics import spec_of
from forebay.platform import Platform
from forebay.producing.base import Defect
from forebay.producing.frames import altered_contract
from forebay.serde import Schema, load_contract

CONTRACT = json.loads(load_contract(SERVICE.name, "UserActivity").text)
HEADERS = [("trace", b"one"), ("trace", b"two"), ("nothing", None), ("raw", b"\x00\xff")]
NOW = time.time_ns() // 1_000_000
MEGABYTE = 1_000_000


class Writer:
    """Encoder of activities with any schema."""

    def __init__(self, bench: Bench) -> None:
        self._registry = SchemaRegistry(bench.settings.registry())

    def encode(self, schema: dict[str, Any], subject: str = subject_of(INPUT), **fields: Any) -> bytes:
        """Return the framed bytes of a current activity with these fields."""
        schema_id = self._registry.register(subject, Schema(json.dumps(schema))).schema_id
        body = io.BytesIO()
        activity = {"action": "click", "session_id": "s", "duration_ms": 1, "timestamp": NOW, "page": "/home"}
        fastavro.schemaless_writer(body, fastavro.parse_schema(schema, named_schemas={}), {**activity, **fields})
        return b"\0" + schema_id.to_bytes(4, "big") + body.getvalue()

    def good(self) -> bytes:
        return self.encode(CONTRACT)

    def alter(self, defect: Defect, **fields: Any) -> bytes:
        schema = altered_contract(CONTRACT, "session_id", defect)
        return self.encode(schema, f"bad-input-{defect.value}-value", **fields)


@dataclass(frozen=True, slots=True)
class Case:
    """An invalid record, and the expected error message."""

    value: Callable[[Writer], bytes | None]
    message: str
    stage: str = "decode"
    keyed: bool = True


CASES = {
    "undecodable bytes": Case(lambda w: w.good()[:9], "end|bytes|short|truncat"),
    "bytes of another kind": Case(lambda _: b"\xde\xad\xbe\xef", "magic|frame|short|bytes"),
    "bytes left over": Case(lambda w: w.good() + b"\0\0", "left|remain|trailing|bytes"),
    "an empty value": Case(lambda _: b"", "magic|frame|short|empty|bytes"),
    "wrong magic": Case(lambda w: b"\x01" + w.good()[1:], "magic"),
    "an unknown schema id": Case(lambda w: b"\0\x7f\xff\xff\xff" + w.good()[5:], "unknown schema id 2147483647"),
    "no key": Case(Writer.good, "key is null", keyed=False),
    "no value": Case(lambda _: None, "value is null"),
    "a required field missing": Case(lambda w: w.alter(Defect.MISSING_FIELD), "session_id"),
    "null in a required field": Case(lambda w: w.alter(Defect.NULL_FIELD, session_id=None), "session_id"),
    "a field of a wrong type": Case(lambda w: w.alter(Defect.WRONG_TYPE, session_id=True), "session_id"),
    "a negative timestamp": Case(lambda w: w.encode(CONTRACT, timestamp=-1), "event time -1 is negative"),
    "a far-future timestamp": Case(lambda w: w.encode(CONTRACT, timestamp=NOW + 48 * HOUR_MS), "future"),
    "an empty action": Case(lambda w: w.encode(CONTRACT, action=""), "action is empty", "process"),
    "a negative duration": Case(lambda w: w.encode(CONTRACT, duration_ms=-5), "duration_ms is -5", "process"),
    "a megabyte of nonsense": Case(lambda _: b"\xff" * MEGABYTE, "magic"),
    "a megabyte that can't be sent further": Case(lambda w: w.encode(CONTRACT, page="p" * MEGABYTE), "bytes", "encode"),
}


@dataclass(frozen=True, slots=True)
class Seen:
    """The job's outputs and errors, and the sent values, by name of the case."""

    sent: dict[str, bytes | None]
    outputs: dict[str, list[dict[str, Any]]]
    errors: dict[str, list[Message]]


@pytest.fixture(scope="module")
def bench(platform: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    bench = Bench(platform, "bad-input", tmp_path_factory.mktemp("bad-input"))
    # A subject accepts no incompatible schemas. These are registered under other subjects, and must still be read.
    bench.environment["FOREBAY_SCHEMA_REGISTRY_IDS"] = "any"
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def writer(bench: Bench) -> Writer:
    return Writer(bench)


@pytest.fixture(scope="module")
def seen(bench: Bench, writer: Writer) -> Seen:
    """Send each case between two valid records of one user, then records of an older and a newer producer."""
    good = writer.good()
    sent = {name: case.value(writer) for name, case in CASES.items()}
    for number, (name, case) in enumerate(CASES.items()):
        user = name.encode()
        original = {"headers": [*HEADERS, ("case", user)], "timestamp": NOW - number}
        bench.send((user, good, {}), (user if case.keyed else None, sent[name], original), (user, good, {}))
    without_location = [field for field in CONTRACT["fields"] if field["name"] != "location"]
    colour = {"name": "colour", "type": ["null", "string"], "default": None}
    bench.send(
        (b"older", writer.encode({**CONTRACT, "fields": without_location}, page="/older"), {}),
        (b"newer", writer.encode({**CONTRACT, "fields": [*CONTRACT["fields"], colour]}, page="/newer"), {}),
    )
    job = bench.drain()
    assert job.records_in() == 3 * len(CASES) + 2
    outputs: dict[str, list[dict[str, Any]]] = {}
    for key, value, _ in (output for part in bench.outputs().values() for output in part):
        outputs.setdefault(key, []).append(value)
    errors: dict[str, list[Message]] = {}
    for message in bench.errors():
        errors.setdefault((dict(headers_of(message))["case"] or b"").decode(), []).append(message)
    return Seen(sent, outputs, errors)


@pytest.mark.parametrize("name", CASES)
def test_bad_record_is_reported_unchanged_and_the_records_around_it_are_processed(seen: Seen, name: str) -> None:
    case = CASES[name]
    (message,) = seen.errors[name]
    assert message.key() == (name.encode() if case.keyed else None)
    assert message.value() == seen.sent[name]
    assert message.timestamp()[1] == NOW - list(CASES).index(name)
    headers = headers_of(message)
    assert headers[: len(HEADERS)] == HEADERS
    reported = {key: (value or b"").decode() for key, value in headers if key.startswith("error.")}
    assert reported["error.stage"] == case.stage
    assert re.search(case.message, reported["error.message"]), reported["error.message"]
    assert reported["error.class"]
    assert (reported["error.topic"], reported["error.service"]) == (INPUT, SERVICE.name)
    assert int(reported["error.timestamp"]) == message.timestamp()[1]
    assert [output["session_totals"]["total_time_ms"] for output in seen.outputs[name]] == [1, 2]


def test_reported_partition_and_offset_locate_the_record(bench: Bench, seen: Seen) -> None:
    source = read_topic(bench.settings, INPUT)
    for (message,) in seen.errors.values():
        headers = {key: value or b"" for key, value in headers_of(message) if key.startswith("error.")}
        original = source[int(headers["error.partition"])][int(headers["error.offset"])]
        assert (original.key(), original.value()) == (message.key(), message.value())


def test_nothing_else_is_reported_or_lost(seen: Seen) -> None:
    assert seen.errors.keys() == CASES.keys()
    assert seen.outputs.keys() == {*CASES, "older", "newer"}


def test_older_and_newer_producers_are_read(seen: Seen) -> None:
    (older,), (newer,) = seen.outputs["older"], seen.outputs["newer"]
    assert (older["activity"]["page"], older["current_context"]["location"]) == ("/older", None)
    assert newer["activity"]["page"] == "/newer"


def test_an_incompatible_contract_stops_the_start_with_the_registrys_reason(bench: Bench, tmp_path: Path) -> None:
    changelogs = SERVICE.changelogs("incompatible", 4)
    service = SERVICE.as_application("incompatible")
    TopicAdmin(bench.settings).create(spec_of(topic) for topic in (*changelogs, service.errors, service.late))
    profile = {"type": "record", "name": "UserProfile", "namespace": "forebay.user_sessions", "fields": []}
    theirs = {**profile, "fields": [{"name": "total_sessions", "type": "string"}]}
    SchemaRegistry(bench.settings.registry()).register(subject_of(changelogs[0].name), Schema(json.dumps(theirs)))
    job = bench.job("--application", "incompatible")
    assert job.finish() == 1
    assert re.search(r"error: .*UserProfile is incompatible with what incompatible-user-profiles-changelog", job.text())
    assert "starting Spark" not in job.text()


def test_missing_topic_stops_the_start_with_a_remedy(bench: Bench) -> None:
    job = bench.job("--application", "without-topics")
    assert job.finish() == 1
    assert "error: " in job.text()
    assert "without-topics-user-profiles-changelog" in job.text()
    assert "forebay topics create" in job.text()


def test_input_compacted_without_lag_stops_the_start_with_two_remedies(bench: Bench) -> None:
    set_topic_config(bench.settings, INPUT, "cleanup.policy", "compact")
    try:
        refused = bench.job()
        assert refused.finish() == 1
        assert f"the input {INPUT} is compacted with min.compaction.lag.ms=0" in refused.text()
        assert "starting Spark" not in refused.text()
        accepted = bench.job("--max-downtime-ms", "0", "--trigger", "available-now")
        assert accepted.finish() == 0, accepted.text()
        set_topic_config(bench.settings, INPUT, "min.compaction.lag.ms", "86400000")
        retained = bench.job("--trigger", "available-now")
        assert retained.finish() == 0, retained.text()
    finally:
        set_topic_config(bench.settings, INPUT, "cleanup.policy", "delete")
        set_topic_config(bench.settings, INPUT, "min.compaction.lag.ms", "0")
