"""Suppress emits at a time limit, at record and byte limits, or when windows close."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import (
    BufferFull,
    LatestByOffset,
    LatestByTimestamp,
    Suppress,
    UntilTimeLimit,
    UntilWindowCloses,
    WhenFull,
)
from forebay.stores.buffers import RECORD_BYTES, SuppressBuffer, Suppressed
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import SessionWindows, Window, tumbling


def buffer(bench: Bench) -> SuppressBuffer[Cell]:
    return bench.open(SuppressBuffer("held", Cell))


@pytest.mark.parametrize(("now", "released"), [(14, 0), (15, 1)])
def test_an_update_is_let_through_at_first_buffered_plus_limit(bench: Bench, now: int, released: int) -> None:
    suppress = Suppress(buffer(bench), UntilTimeLimit(10))
    assert suppress.process("k", None, Cell("a"), 5, 5) == []
    assert len(suppress.release(now)) == released


def test_later_updates_replace_the_value_and_do_not_restart_the_clock(bench: Bench) -> None:
    suppress = Suppress(buffer(bench), UntilTimeLimit(10))
    suppress.process("k", None, Cell("a"), 5, 5)
    bench.commit()
    suppress.process("k", None, Cell("b"), 14, 14)
    assert suppress.release(15) == [Suppressed("k", None, Cell("b"), 14)]
    assert suppress.release(99) == []


def test_a_record_limit_evicts_the_oldest_only_above_it(bench: Bench) -> None:
    suppress = Suppress(buffer(bench), UntilTimeLimit(1_000), max_records=2)
    assert suppress.process("b", None, Cell("1"), 1, 1) == []
    assert suppress.process("a", None, Cell("2"), 2, 2) == []
    assert suppress.process("a", None, Cell("3"), 3, 3) == []
    assert [r.key for r in suppress.process("c", None, Cell("4"), 4, 4)] == ["b"]


def test_a_byte_limit_evicts_the_oldest_only_above_it(bench: Bench) -> None:
    held = buffer(bench)
    held.put(0, "k", None, Cell("1"), 0)
    one = held.size_bytes
    assert RECORD_BYTES < one < RECORD_BYTES + 50
    held.release(0)
    assert (held.size_bytes, held.records) == (0, 0)
    suppress = Suppress(held, UntilTimeLimit(1_000), max_bytes=2 * one)
    assert suppress.process("a", None, Cell("1"), 1, 1) == []
    assert suppress.process("b", None, Cell("1"), 2, 2) == []
    assert [r.key for r in suppress.process("b", None, Cell("11"), 3, 3)] == ["a"]


def test_a_full_buffer_that_must_not_emit_early_stops_the_task_and_names_the_store(bench: Bench) -> None:
    suppress = Suppress(buffer(bench), UntilTimeLimit(1_000), max_records=1, when_full=WhenFull.SHUT_DOWN)
    suppress.process("a", None, Cell("1"), 1, 1)
    with pytest.raises(BufferFull, match=r"store held: 2 records .* raise the limit"):
        suppress.process("b", None, Cell("1"), 1, 1)


def test_a_tombstone_passes_a_time_limit(bench: Bench) -> None:
    suppress = Suppress(buffer(bench), UntilTimeLimit(0))
    assert suppress.process("k", None, None, 5, 5) == [Suppressed("k", None, None, 5)]


@pytest.mark.parametrize(("now", "released"), [(14, 0), (15, 1)])
def test_a_windows_result_comes_once_at_end_plus_grace(bench: Bench, now: int, released: int) -> None:
    suppress = Suppress(buffer(bench), UntilWindowCloses(tumbling(10, grace_ms=5)))
    suppress.process("k", Window(0, 10), Cell("a"), 3, 3)
    suppress.process("k", Window(10, 20), Cell("b"), 12, 12)
    suppress.process("k", Window(0, 10), Cell("c"), 9, 12)
    assert suppress.release(now) == [Suppressed("k", Window(0, 10), Cell("c"), 9)][:released]


@pytest.mark.parametrize(("now", "released"), [(15, 0), (16, 1)])
def test_a_sessions_result_comes_when_nothing_can_merge_any_more(bench: Bench, now: int, released: int) -> None:
    suppress = Suppress(buffer(bench), UntilWindowCloses(SessionWindows(10, grace_ms=5)))
    suppress.process("k", Window(0, 0), Cell("a"), 0, 0)
    assert len(suppress.release(now)) == released


def test_a_tombstone_of_an_absorbed_session_only_empties_the_buffer(bench: Bench) -> None:
    suppress = Suppress(buffer(bench), UntilWindowCloses(SessionWindows(10)))
    suppress.process("k", Window(0, 0), Cell("a"), 0, 0)
    suppress.process("k", Window(0, 0), None, 0, 5)
    suppress.process("k", Window(0, 5), Cell("b"), 5, 5)
    assert suppress.release(1_000) == [Suppressed("k", Window(0, 5), Cell("b"), 5)]


def test_a_versioned_table_can_not_be_suppressed(bench: Bench) -> None:
    versioned = LatestByTimestamp(VersionedKeyValueStore("prices", Cell, history_retention_ms=0))
    with pytest.raises(ValueError, match="store prices: a versioned table can't be suppressed"):
        Suppress(buffer(bench), UntilTimeLimit(1), table=versioned)
    plain = LatestByOffset(TimestampedKeyValueStore("prices", Cell))
    Suppress(buffer(bench), UntilTimeLimit(1), table=plain)


@settings(deadline=None, max_examples=100)
@given(
    limit=st.integers(0, 10),
    most=st.none() | st.integers(1, 3),
    updates=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(-5, 8)), max_size=25),
)
def test_the_results_equal_those_of_a_dict_in_order_of_first_buffering(
    limit: int, most: int | None, updates: list[tuple[str, int]]
) -> None:
    held: dict[str, tuple[int, str, int]] = {}
    now = 0
    with open_bench(Backend.IN_MEMORY) as bench:
        suppress = Suppress(buffer(bench), UntilTimeLimit(limit), max_records=most)
        for number, (key, step) in enumerate(updates):
            ts, text = max(0, now + step), str(number)
            now = max(now, ts)
            held[key] = (held[key][0] if key in held else ts, text, ts)
            order = sorted(held, key=lambda k: (held[k][0], k))
            out = [k for k in order if held[k][0] + limit <= now]
            rest = [k for k in order if k not in out]
            out += rest[: max(0, len(rest) - most)] if most is not None else []
            expected = [Suppressed(k, None, Cell(held[k][1]), held[k][2]) for k in out]
            assert suppress.process(key, None, Cell(text), ts, now) == expected
            for k in out:
                del held[k]
            bench.commit()
