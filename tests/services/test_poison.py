"""Every service processes the records after a poisonous one on the test driver, for each kind of poisonous record."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from forebay.catalog import all_services
from forebay.job import load_job
from forebay.processor.messages import Headers
from forebay.producing.base import FIXED_START_MS, Event, Options
from forebay.producing.sources import generate, source_of
from forebay.testing import TestDriver
from tests.poisons import POISONS, Fate, Maker, Sent

pytestmark = pytest.mark.long

SERVICES = all_services()

TOPICS = [(service.name, topic.name) for service in SERVICES.values() for topic in service.inputs]
NOW = FIXED_START_MS + 3_600_000
GOOD = 24


@cache
def goods(service: str) -> list[tuple[str, Event[Any]]]:
    """Return ordinary records of all inputs of a service by time, with their topics."""
    options = Options(count=GOOD, keys=3, seed=5)
    rows = [(topic.name, event) for topic in SERVICES[service].inputs for event in generate(topic.name, options)]
    return sorted(rows, key=lambda record: record[1].timestamp)


def pipe(driver: TestDriver, records: list[tuple[str, Event[Any]]]) -> int:
    """Process ordinary records, and return the number of outputs."""
    return sum(len(driver.pipe(event.key, event.value, topic)) for topic, event in records)


@cache
def good_outputs(service: str) -> tuple[Any, ...]:
    driver = TestDriver(service, clock=NOW)
    pipe(driver, goods(service))
    assert driver.errors == []
    return tuple(driver.outputs)


def maker(driver: TestDriver, service: str, topic: str) -> Maker:
    codec: Any = driver.sub_topologies[0].codecs.inputs[topic]
    (good,) = generate(topic, Options(count=1, keys=1, seed=77, start_ms=goods(service)[-1][1].timestamp))

    def register(name: str, text: str) -> int:
        return codec._resolver.register(type(codec._registered.schema)(text)).schema_id  # type: ignore[no-any-return]

    return Maker(source_of(topic), good, codec.encode, register)


def send(driver: TestDriver, topic: str, sent: Sent) -> None:
    timestamp = NOW if sent.timestamp is None else sent.timestamp
    driver.pipe_bytes(sent.key, sent.value, timestamp, topic, sent.headers)


@pytest.mark.parametrize(("service", "topic"), TOPICS, ids=[topic for _, topic in TOPICS])
@pytest.mark.parametrize("name", POISONS)
def test_record_after_a_poison_record_is_processed(service: str, topic: str, name: str) -> None:
    poison, driver = POISONS[name], TestDriver(service, clock=NOW)
    records = goods(service)
    half = len(records) // 2
    offset = sum(item == topic for item, _ in records[:half])
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
        assert tuple(driver.outputs) == good_outputs(service)


class Unnamable(Headers):
    """Headers that raise an error when they are read, like the client's if a name is not UTF-8."""

    def __iter__(self) -> Any:
        b"\xff".decode()
        yield


@pytest.mark.parametrize("service", SERVICES)
def test_a_header_name_that_is_not_utf_8_does_not_stop_the_task(service: str) -> None:
    driver = TestDriver(service, clock=NOW)
    driver.pipe_bytes(b"k", b"rubbish", NOW, headers=Unnamable([("a", b"1")]))
    assert "not UTF-8" in driver.errors[0].headers["error.headers"]
    assert pipe(driver, goods(service)) == len(good_outputs(service))
