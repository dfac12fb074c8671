"""Kafka Streams' relational smoke test: no row differs although executors are replaced while tables are joined."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from executor_run import ExecutorRun
from own_service import OwnService, own_service
from steady_load import Sent
from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings
from forebay.platform import Endpoints
from tests.dsl import relational

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

REPLACED = 6
"""Number of replacements, by which each of three executors is replaced twice."""


@pytest.fixture
def service(endpoints: Endpoints, tmp_path: Path) -> Iterator[OwnService]:
    with own_service("relational", "tests.dsl.relational", relational.TASKS, endpoints, tmp_path) as own:
        yield own


def encode(record: relational.Record) -> Sent:
    topic, key, value, at = record
    return topic, key, None if value is None else value.encode(), at


def changes(settings: KafkaSettings, topic: str) -> list[tuple[str, str | None]]:
    return [
        ((message.key() or b"").decode(), None if (value := message.value()) is None else value.decode())
        for messages in read_topic(settings, topic).values()
        for message in messages
    ]


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
def test_executors_are_replaced_one_after_another(
    endpoints: Endpoints, service: OwnService, tmp_path: Path, *, clean: bool
) -> None:
    run = ExecutorRun(service, endpoints, tmp_path, relational.TASKS, map(encode, relational.records()), rate=200)
    try:
        run.replace_in_turn(REPLACED, clean=clean)
        sent = run.end()
        records = [(topic, key, None if value is None else value.decode(), at) for topic, key, value, at in sent]
        assert len(records) > 5_000
        wanted = relational.expected_rows(records)
        outputs = {topic: changes(run.settings, topic) for topic in wanted}
        assert relational.last_rows(outputs) == wanted
    finally:
        run.close()
