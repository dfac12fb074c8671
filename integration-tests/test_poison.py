"""Every service on a real broker processes the records after a poisonous one, for each kind of poisonous record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest
from confluent_kafka import Producer
from loop_worker import LoopWorker
from service_bench import ServiceBench

from forebay.catalog import all_services
from forebay.job import load_job
from forebay.kafka.codecs import register_contract, registry_codec
from forebay.kafka.registry import SchemaRegistry
from forebay.kafka.registry_settings import SchemaIds
from forebay.limits.topics import AFTER_MAX, MAX_BYTES, SIDE_MAX_BYTES, UNLIMITED
from forebay.platform import Platform
from forebay.producing.base import FIXED_START_MS, Event, Options
from forebay.producing.sources import generate, source_of
from forebay.serde import Schema
from forebay.testing import TestDriver
from tests.poisons import POISONS, Fate, Maker, Sent

SERVICES = all_services()

GOOD = 24
NOW = FIXED_START_MS + 3_600_000
PARTITION = 0
"""Partition of all records that are sent, because then a single task reads all of them."""

Result = tuple[str, str, Any, int]
"""Topic, key, value, time."""
Records = list[tuple[str, Event[Any]]]


class Poisoned(ServiceBench):
    """A service whose input records, valid and poisonous, are written by the test."""

    def begin(self) -> None:
        """Connect a producer, and create the maker of poisonous records for each input topic."""
        self.settings = replace(self.settings, schema_registry_ids=SchemaIds.ANY)
        # Larger than the record limit of .errors.
        self._producer = Producer({**self.settings.producer(), "message.max.bytes": 2 * SIDE_MAX_BYTES})
        self._encoders: dict[str, Any] = {}
        self.makers: dict[str, Maker] = {}
        registry = SchemaRegistry(self.settings.registry())

        def register(name: str, text: str) -> int:
            return registry.register(f"poison-{name}-{uuid4().hex}-value", Schema(text)).schema_id

        for topic in self.service.inputs:
            source = source_of(topic.name)
            contract = register_contract(registry, source.service, source.contract, source.topic)
            codec = registry_codec(self.settings, source.service, source.record_type, contract.schema_id)
            self._encoders[topic.name] = codec.encode
            (good,) = generate(topic.name, Options(count=1, keys=1, seed=77, start_ms=FIXED_START_MS))
            self.makers[topic.name] = Maker(source, good, codec.encode, register)

    def send_good(self, records: Records) -> None:
        for topic, event in records:
            self._send(topic, Sent(event.key.encode(), self._encoders[topic](event.value), timestamp=event.timestamp))
        assert self._producer.flush(30) == 0

    def send_poison(self, topic: str, names: list[str], timestamp: int) -> dict[int, str]:
        """Send poisonous records, with `timestamp` if they have none. Return their names by offset."""
        places: dict[int, str] = {}
        for name in names:
            sent = POISONS[name].make(self.makers[topic])
            if sent.timestamp is None:
                sent = Sent(sent.key, sent.value, sent.headers, timestamp)
            self._send(topic, sent, lambda error, message, name=name: self._note(places, name, error, message))
        assert self._producer.flush(30) == 0
        assert len(places) == len(names)
        return places

    def _prepare_topics(self) -> None:
        roomy = {MAX_BYTES: str(2 * SIDE_MAX_BYTES), AFTER_MAX: str(UNLIMITED)}
        inputs = tuple(replace(topic, config={**topic.config, **roomy}) for topic in self.service.inputs)
        self.service = replace(self.service, inputs=inputs)
        super()._prepare_topics()

    def _note(self, places: dict[int, str], name: str, error: Any, message: Any) -> None:
        assert error is None, f"{name}: {error}"
        places[message.offset()] = name

    def _send(self, topic: str, sent: Sent, on_delivery: Any = None) -> None:
        time: dict[str, Any] = {} if sent.timestamp is None or sent.timestamp < 0 else {"timestamp": sent.timestamp}
        self._producer.produce(
            topic, sent.value, sent.key, PARTITION, headers=cast(Any, sent.headers), on_delivery=on_delivery, **time
        )

    def report_counts(self) -> dict[tuple[str, int], int]:
        """Return how often the errors topic contains each input record, by topic and offset."""
        results: dict[tuple[str, int], int] = {}
        for report in self.errors():
            headers = dict(report.headers() or [])
            assert headers["error.message"]
            place = str(cast(bytes, headers["error.topic"]), "utf-8"), int(headers["error.offset"] or -1)
            results[place] = results.get(place, 0) + 1
        return results

    def results(self) -> list[Result]:
        """Return the records of all output topics."""
        return [
            (topic.name, *output)
            for topic in self.service.outputs
            for outputs in self.outputs(topic.name).values()
            for output in outputs
        ]


def comparable(service: str, results: list[Result]) -> list[str]:
    """Return sorted results. If there are several sub-topologies, return only the last result of each key.

    Intermediate rows of a table depend on which records share a commit.
    """
    if SERVICES[service].stages == 1:
        return sorted(json.dumps(result, sort_keys=True, default=str) for result in results)
    last = {(topic, key): value.get("after", value) for topic, key, value, _ in sorted(results, key=lambda r: r[3])}
    return sorted(
        json.dumps([*key, {**value, "timestamp": 0}], sort_keys=True, default=str) for key, value in last.items()
    )


def goods(service: str, seed: int, start_ms: int = FIXED_START_MS) -> Records:
    """Return ordinary records of all inputs of a service by time, with their topics."""
    options = Options(count=GOOD, keys=3, seed=seed, start_ms=start_ms)
    rows = [(topic.name, event) for topic in SERVICES[service].inputs for event in generate(topic.name, options)]
    return sorted(rows, key=lambda record: record[1].timestamp)


def expected_results(service: str, records: Records) -> list[Result]:
    """Return the engine's results for the records."""
    driver = TestDriver(service, clock=NOW)
    for topic, event in records:
        driver.pipe(event.key, event.value, topic)
    assert driver.errors == []
    default = SERVICES[service].output.name
    return [(o.topic or default, o.key, msgspec.to_builtins(o.value), o.timestamp) for o in driver.outputs]


@pytest.fixture
def bench(request: pytest.FixtureRequest, platform: Platform, tmp_path: Path) -> Iterator[Poisoned]:
    bench = Poisoned(platform, request.param, f"poison-{request.param}", tmp_path)
    bench.begin()
    yield bench
    bench.close()


def read_until(worker: LoopWorker, check: Callable[[], bool]) -> None:
    """Run the loop until `check` is true, so that records between sub-topologies are processed as well."""
    while True:
        worker.read_everything()
        if check():
            return


def is_harmless(name: str) -> bool:
    """Return whether a poisonous record changes nothing and does not change the order of other records by its time."""
    return POISONS[name].fate is Fate.REFUSED and " time" not in name and " 2100" not in name


@pytest.mark.parametrize("bench", SERVICES, indirect=True)
def test_job_continues_after_poison_records(bench: Poisoned) -> None:
    name = bench.service.name
    records = goods(name, seed=5)
    half = len(records) // 2
    refused = [poison for poison in POISONS if is_harmless(poison)]
    others = [poison for poison in POISONS if not is_harmless(poison)]
    bench.send_good(records[:half])
    places = {
        (topic.name, offset): poison
        for topic in bench.service.inputs
        for offset, poison in bench.send_poison(topic.name, refused, records[half][1].timestamp).items()
    }
    bench.send_good(records[half:])
    worker = LoopWorker(bench).open()
    wanted = comparable(name, expected_results(name, records))
    read_until(worker, lambda: len(comparable(name, bench.results())) >= len(wanted))
    reported = bench.report_counts()
    assert {places[place] for place in places if reported.get(place) != 1} == set()
    assert len(reported) == len(places)
    result = bench.results()
    assert comparable(name, result) == wanted

    tables = load_job(bench.service.job).tables
    last = records[-1][1].timestamp
    for topic in bench.service.inputs:
        odd = bench.send_poison(topic.name, others, last)
        places.update({(topic.name, offset): poison for offset, poison in odd.items()})
    bench.send_good(goods(name, seed=6, start_ms=last + 1_000))
    read_until(worker, lambda: len(bench.results()) > len(result))
    for place, times in bench.report_counts().items():
        assert times == 1, f"{places[place]} is reported {times} times"
        fate = POISONS[places[place]].fate
        assert fate is not Fate.DELETES or place[0] not in tables
    worker.group.abandon()
