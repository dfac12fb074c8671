"""Producers of KSML definitions: generators, conditions, counts and batches."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.cli.ksml_produce import send
from forebay.cli.main import run
from forebay.ksml.producers import Producer, producers_of
from forebay.processor.api import RejectedRecord
from tests.ksml.running import definition


def producer(
    more: str, code: str = "return 'k', n", result: str = "(string, json)", partitioner: str = "None"
) -> Producer:
    outcome = definition(
        f"""
producers:
  one:
    generator:
      globalCode: n = 0
      code: |
        global n
        n += 1
        {code}
      resultType: {result}
    to:
      topic: t
      keyType: string
      valueType: json
      partitioner: {{expression: "{partitioner}"}}
    {more}
"""
    )
    (one,) = producers_of(outcome.files[0], outcome.formats)
    return one


def drain(one: Producer) -> list[list[Any]]:
    batches = []
    while not one.is_done:
        batches.append([record.value for record in one.batch()])
    return batches


def test_without_interval_and_count_it_sends_once() -> None:
    assert drain(producer("")) == [[1]]


def test_count_stops_the_producer_within_a_batch() -> None:
    assert drain(producer("{count: 5, batchSize: 2}".strip("{}").replace(", ", "\n    "))) == [[1, 2], [3, 4], [5]]


def test_until_stops_the_producer_after_the_matching_record() -> None:
    assert drain(producer("until: {expression: value == 3}")) == [[1], [2], [3]]


def test_condition_is_evaluated_for_at_most_ten_messages() -> None:
    one = producer("condition: {expression: value % 4 == 0}\n    count: 2")
    assert drain(one) == [[4], [8]]


def test_a_list_of_messages_is_sent_one_after_the_other() -> None:
    one = producer("count: 3", "return [('a', n), ('b', -n)]", "list(tuple(string, json))")
    assert drain(one) == [[1], [-1], [2]]


class Broker:
    """A replacement for a broker, which collects the sent records."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, bytes | None, bytes | None]] = []
        self.partitions: list[int] = []

    def produce(
        self, topic: str, value: bytes | None, key: bytes | None, partition: int = -1, *, timestamp: int
    ) -> None:
        assert timestamp > 0
        self.sent.append((topic, key, value))
        self.partitions.append(partition)

    def list_topics(self, topic: str) -> Any:
        described = SimpleNamespace(partitions=dict.fromkeys(range(4)))
        return SimpleNamespace(topics={topic: described})

    def poll(self, _seconds: float) -> int:
        return 0

    def flush(self, _seconds: float) -> int:
        return 0


@pytest.mark.parametrize(
    ("more", "ends"),
    [("", True), ("count: 3", True), ("interval: 1s", False), ("interval: 1s\n    until: {expression: 'True'}", True)],
)
def test_a_producer_ends_unless_only_its_interval_is_set(more: str, ends: bool) -> None:
    assert producer(more).ends is ends


def test_producers_are_called_until_all_are_done() -> None:
    ones = [producer("count: 2\n    interval: 1ms"), producer("count: 3")]
    broker: Any = Broker()
    counts = send(ones, [one.codecs() for one in ones], broker, threading.Event())
    assert counts == [2, 3]
    assert sorted(broker.sent) == sorted(("t", b"k", str(n).encode()) for n in (1, 2, 1, 2, 3))


def test_check_refuses_an_invalid_producer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bad.yaml"
    target = "{topic: t, keyType: string, valueType: soap}"
    file.write_text(f"producers:\n  one:\n    generator: {{expression: 1}}\n    to: {target}\n")
    assert run(["ksml", "check", str(file)]) == 1
    assert "bad.yaml:4: the notation soap is not supported: convert its values to json" in capsys.readouterr().out


def test_a_partitioner_gives_the_partitions() -> None:
    one = producer("count: 3", partitioner="[0, value] if value < 3 else None")
    broker: Any = Broker()
    assert send([one], [one.codecs()], broker, threading.Event()) == [3]
    assert broker.partitions == [0, 1, 0, 2, -1]


def test_nonexistent_partition_is_refused() -> None:
    one = producer("count: 1", partitioner="4")
    broker: Any = Broker()
    with pytest.raises(RejectedRecord, match="producer one: 4 was chosen, but t has the partitions 0 to 3"):
        send([one], [one.codecs()], broker, threading.Event())
    assert broker.sent == []
