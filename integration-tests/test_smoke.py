"""Kafka Streams' smoke test: no result differs although executors are replaced one by one while the job runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from executor_run import ExecutorRun
from own_service import OwnService, own_service
from steady_load import Sent
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.partitioner import partition_of
from forebay.platform import Endpoints
from tests.dsl import smoke

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REPLACED = 6
"""Number of replacements, by which each of three executors is replaced twice."""
CLOSING = {partition_of(key.encode(), smoke.TASKS): key for key in map(str, range(50))}


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("smoke", "tests.dsl.smoke", smoke.TASKS, endpoints, tmp_path) as own:
        yield own


def sent_record(record: tuple[str, int, int]) -> Sent:
    key, value, at = record
    return smoke.DATA, key, value.to_bytes(8, "big", signed=True), at


def outputs(settings: KafkaSettings) -> dict[str, dict[Any, list[Any]]]:
    results: dict[str, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for topic in smoke.JOB.outputs:
        for messages in read_topic(settings, topic).values():
            for message in messages:
                value = message.value()
                number = None if value is None else int.from_bytes(value, "big", signed=True)
                results[topic][key_of(topic, message.key() or b"")].append(number)
    return results


def key_of(topic: str, key: bytes) -> Any:
    if topic == "smoke-tagg":
        return int.from_bytes(key, "big", signed=True)
    if topic.endswith(("-raw", "-suppressed")):
        return key[:-8].decode(), int.from_bytes(key[-8:], "big")
    return key.decode()


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
def test_executors_are_replaced_one_after_another(
    endpoints: Endpoints, service: OwnService, tmp_path: Path, *, clean: bool
) -> None:
    run = ExecutorRun(service, endpoints, tmp_path, smoke.TASKS, map(sent_record, smoke.records()), rate=200)
    try:
        run.replace_in_turn(REPLACED, clean=clean)
        sent = run.end(*map(sent_record, smoke.flush(CLOSING.values())))
        records = [(key, int.from_bytes(value or b"", "big", signed=True), at) for _, key, value, at in sent]
        assert len(records) > 5_000
        smoke.check(outputs(run.settings), records, set(CLOSING.values()))
    finally:
        run.close()
