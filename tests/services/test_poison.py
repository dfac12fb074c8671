"""Every service, by its engine alone, with one of each kind of poisonous record: what comes next is processed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from forebay.builder import Topology, job
from forebay.catalog import all_services
from forebay.job import load_job
from forebay.ksml.compile import definitions, job_of
from forebay.ksml.definition import definition_of
from forebay.ksml.schemas import SchemaFiles
from forebay.processor.messages import Headers
from forebay.producing.base import FIXED_START_MS, Event, Options
from forebay.producing.sources import generate, source_of
from forebay.serde.json_format import JSON
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from tests.poisons import PLAIN, POISONS, Fate, Maker, Sent

pytestmark = pytest.mark.long

SERVICES = all_services()

TOPICS = [(service.name, topic.name) for service in SERVICES.values() for topic in service.inputs]
NOW = FIXED_START_MS + 3_600_000
GOOD = 24


@cache
def goods(service: str) -> list[tuple[str, Event[Any]]]:
    """Return ordinary records of all a service's inputs, in order of time, with their topics."""
    options = Options(count=GOOD, keys=3, seed=5)
    found = [(topic.name, event) for topic in SERVICES[service].inputs for event in generate(topic.name, options)]
    return sorted(found, key=lambda record: record[1].timestamp)


def pipe(driver: TestDriver, records: list[tuple[str, Event[Any]]]) -> int:
    """Pipe ordinary records; give the number of outputs."""
    return sum(len(driver.pipe(event.key, event.value, topic)) for topic, event in records)


@cache
def undisturbed(service: str) -> tuple[Any, ...]:
    driver = TestDriver(service, clock=NOW)
    pipe(driver, goods(service))
    assert driver.errors == []
    return tuple(driver.outputs)


def maker(driver: TestDriver, service: str, topic: str) -> Maker:
    codec: Any = driver.stages[0].codecs.inputs[topic]
    (good,) = generate(topic, Options(count=1, keys=1, seed=77, start_ms=goods(service)[-1][1].timestamp))

    def register(name: str, text: str) -> int:
        return codec._resolver.register(type(codec._registered.schema)(text)).schema_id  # type: ignore[no-any-return]

    return Maker(source_of(topic), good, codec.encode, register)


def send(driver: TestDriver, topic: str, sent: Sent) -> None:
    timestamp = NOW if sent.timestamp is None else sent.timestamp
    driver.pipe_bytes(sent.key, sent.value, timestamp, topic, sent.headers)


@pytest.mark.parametrize(("service", "topic"), TOPICS, ids=[topic for _, topic in TOPICS])
@pytest.mark.parametrize("name", POISONS)
def test_what_comes_next_is_processed(service: str, topic: str, name: str) -> None:
    poison, driver = POISONS[name], TestDriver(service, clock=NOW)
    records = goods(service)
    half = len(records) // 2
    offset = sum(each == topic for each, _ in records[:half])
    before = pipe(driver, records[:half])
    send(driver, topic, poison.make(maker(driver, service, topic)))
    during = len(driver.outputs) - before
    after = pipe(driver, records[half:])
    is_delete = poison.fate is Fate.DELETES and topic in load_job(SERVICES[service].job).tables
    if poison.fate is Fate.ANY:
        assert after > 0
        assert len(driver.errors) <= 1
    elif not is_delete:
        (error,) = driver.errors
        assert (error.headers["error.topic"], error.headers["error.offset"]) == (topic, str(offset))
        assert error.headers["error.message"]
        assert during == 0
    if poison.fate is not Fate.ANY:
        assert tuple(driver.outputs) == undisturbed(service)


class Unnamable(Headers):
    """Headers of which one has a name that is not UTF-8, as the client gives them."""

    def __iter__(self) -> Any:
        b"\xff".decode()
        yield


@pytest.mark.parametrize("service", SERVICES)
def test_a_header_name_that_is_not_utf_8_stops_nobody(service: str) -> None:
    driver = TestDriver(service, clock=NOW)
    driver.pipe_bytes(b"k", b"rubbish", NOW, headers=Unnamable([("a", b"1")]))
    assert "not UTF-8" in driver.errors[0].headers["error.headers"]
    assert pipe(driver, goods(service)) == len(undisturbed(service))


SQL = """
CREATE STREAM s (id STRING KEY, k STRING, n BIGINT, t STRING) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');
CREATE STREAM o AS SELECT id, k, n, LPAD(t, CAST(n AS INT), 'x') AS t FROM s;
CREATE TABLE sums AS SELECT k, COUNT(*) AS c, SUM(n) AS n FROM o GROUP BY k;
"""
KSML = """
streams:
  in: {topic: in, keyType: string, valueType: json}
  o: {topic: o, keyType: string, valueType: json}
functions:
  padded:
    type: valueTransformer
    code: |
      value["T"] = value["T"] * int(value["N"])
    expression: value
    resultType: json
  key_of:
    type: keyTransformer
    expression: value["K"]
    resultType: string
pipelines:
  main:
    from: in
    via:
      - {type: transformValue, mapper: padded}
      - {type: transformKey, mapper: key_of}
      - {type: repartition, name: moved}
    to: o
"""


def sql_job() -> TestDriver:
    program = program_of(SQL, "poison.sql")
    return TestDriver(job(NoSettings, lambda _: topology_of(program)), tasks=2, clock=NOW)


def ksml_job() -> TestDriver:
    made = definitions([definition_of(KSML, "poison.yaml")], SchemaFiles([]))
    return TestDriver(job_of(made), tasks=2, clock=NOW)


def dsl_job() -> TestDriver:
    topology = Topology()
    rows = topology.stream("in", JSON)
    many = rows.flat_map_values(lambda _, row: [row["T"]] * int(row["N"]), str)
    moved = many.select_key(lambda _, text: text, str).repartition("moved")
    moved.group_by_key().count(store="counts").to_stream().to("o")
    return TestDriver(topology, tasks=2, clock=NOW, max_output_bytes=1_000_000)


JOBS = {"SQL": sql_job, "KSML": ksml_job, "DSL": dsl_job}


@pytest.mark.parametrize("kind", JOBS)
@pytest.mark.parametrize("name", PLAIN)
def test_jobs_with_a_repartition_process_what_comes_next(kind: str, name: str) -> None:
    value, headers = PLAIN[name]
    driver, undisturbed = JOBS[kind](), JOBS[kind]()
    for each in (driver, undisturbed):
        for number in range(6):
            each.pipe_bytes(b"k", b'{"K": "a", "N": 1, "T": "x"}', NOW + number, "in")
            if each is driver and number == 2:
                each.pipe_bytes(b"k", value, NOW + number, "in", headers)
    assert undisturbed.errors == []
    assert len(driver.errors) <= 1
    if driver.errors:
        assert driver.errors[0].headers["error.message"]
        assert driver.outputs == undisturbed.outputs
    else:
        assert len(driver.outputs) >= len(undisturbed.outputs)
