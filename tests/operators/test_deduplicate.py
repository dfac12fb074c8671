"""A repeated id is dropped until the time to live since its first record has passed."""

from __future__ import annotations

from forebay.operators import Deduplicate, Result
from forebay.stores.ttl import TtlKeyValueStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell


def once(bench: Bench) -> Deduplicate[Cell]:
    return Deduplicate(bench.open(TtlKeyValueStore("seen", Cell, ttl_ms=100)), lambda _, value: value.json or None)


def at(bench: Bench, time: int) -> None:
    bench.commit()
    bench.clock.closing_time = time


def test_a_repetition_is_dropped_regardless_of_its_key(bench: Bench) -> None:
    first = once(bench)
    assert first.process("a", Cell("1"), 5) == [Result("a", Cell("1"), 5)]
    assert first.process("b", Cell("1"), 5) == []
    assert first.process("b", Cell("2"), 5) == [Result("b", Cell("2"), 5)]


def test_an_id_is_known_until_exactly_its_time_to_live_after_the_first(bench: Bench) -> None:
    first = once(bench)
    at(bench, 1_000)
    first.process("a", Cell("1"), 1_000)
    at(bench, 1_099)
    assert first.process("a", Cell("1"), 1_099) == []
    at(bench, 1_100)
    assert len(first.process("a", Cell("1"), 1_100)) == 1


def test_a_repetition_does_not_prolong_it(bench: Bench) -> None:
    first = once(bench)
    for time, expected in ((0, 1), (60, 0), (120, 1)):
        at(bench, time)
        assert len(first.process("a", Cell("1"), time)) == expected


def test_a_record_without_an_id_is_never_a_repetition(bench: Bench) -> None:
    first = once(bench)
    for value in (Cell(""), None):
        assert [len(first.process("a", value, 1)) for _ in range(2)] == [1, 1]
