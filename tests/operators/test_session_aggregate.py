"""Session aggregates merge sessions, reject late records, delete absorbed sessions, and emit final results on close."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.operators import Closed, Emission, SessionAggregate, WindowResult
from forebay.stores.session import SessionStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell
from forebay.time import SessionWindows, Window
from tests.operators.cells import append, empty, join_texts

Aggregate = SessionAggregate[Cell, Cell]
SESSIONS = SessionWindows(gap_ms=10, grace_ms=5)


def aggregate(
    bench: Bench, sessions: SessionWindows = SESSIONS, emission: Emission = Emission.UPDATES, retention: int = 0
) -> Aggregate:
    store = SessionStore("s", Cell, retention_ms=retention or sessions.retention_ms)
    return SessionAggregate(bench.open(store), sessions, empty, append, join_texts, emission=emission)


def test_a_distance_equal_to_the_gap_merges_and_one_ms_more_does_not(bench: Bench) -> None:
    sums = aggregate(bench)
    sums.process("k", Cell("a"), 0, 0)
    assert sums.process("k", Cell("b"), 10, 10).updates[-1].window == Window(0, 10)
    assert sums.process("k", Cell("c"), 21, 21).updates[-1].window == Window(21, 21)


def test_a_record_before_a_session_merges_at_the_gap_too(bench: Bench) -> None:
    sums = aggregate(bench)
    sums.process("k", Cell("a"), 21, 21)
    assert sums.process("k", Cell("b"), 10, 21).updates[-1].window == Window(10, 10)
    assert sums.process("k", Cell("c"), 11, 21).updates[-1].window == Window(10, 21)


def test_a_merge_sends_a_tombstone_per_absorbed_session_then_the_merged_one(bench: Bench) -> None:
    sums = aggregate(bench, retention=1_000)
    sums.process("k", Cell("a"), 0, 0)
    sums.process("k", Cell("b"), 20, 20)
    assert sums.process("k", Cell("c"), 10, 20).updates == (
        WindowResult("k", Window(0, 0), None, 0),
        WindowResult("k", Window(20, 20), None, 20),
        WindowResult("k", Window(0, 20), Cell("abc"), 20),
    )


def test_no_tombstone_is_sent_when_the_bounds_do_not_change(bench: Bench) -> None:
    sums = aggregate(bench)
    sums.process("k", Cell("a"), 7, 7)
    assert sums.process("k", Cell("b"), 7, 7).updates == (WindowResult("k", Window(7, 7), Cell("ab"), 7),)


@pytest.mark.parametrize(("now", "refused", "late_by"), [(15, 0, 0), (16, 1, 1), (20, 1, 5)])
def test_a_record_is_late_iff_its_session_ends_before_stream_time_minus_grace_minus_gap(
    bench: Bench, now: int, refused: int, late_by: int
) -> None:
    outcome = aggregate(bench).process("k", Cell("a"), 0, now)
    assert (outcome.refused, outcome.late_by_ms) == (refused, late_by)


def test_an_old_record_that_extends_a_live_session_backwards_is_accepted(bench: Bench) -> None:
    sums = aggregate(bench, retention=1_000)
    sums.process("k", Cell("a"), 100, 100)
    outcome = sums.process("k", Cell("b"), 95, 115)
    assert outcome.refused == 0
    assert outcome.updates[-1] == WindowResult("k", Window(95, 100), Cell("ab"), 100)
    assert sums.process("other", Cell("b"), 95, 115).refused == 1


@pytest.mark.parametrize(("now", "finals"), [(15, 0), (16, 1)])
def test_a_session_is_final_one_ms_after_its_gap_and_grace(bench: Bench, now: int, finals: int) -> None:
    sums = aggregate(bench, emission=Emission.FINAL)
    sums.process("k", Cell("a"), 0, 0)
    assert len(sums.close(now)) == finals
    assert sums.close(now) == []


def test_the_default_retention_loses_no_session_at_the_moment_before_it_closes(bench: Bench) -> None:
    """At stream time end + gap + grace the session is still open, but a store with exactly this retention hides it."""
    sums = aggregate(bench, SessionWindows(gap_ms=5), Emission.FINAL)
    sums.process("k", Cell("a"), 0, 0)
    sums.process("clock", Cell("x"), 5, 5)
    bench.commit()
    assert sums.process("k", Cell("b"), 0, 5).refused == 0
    assert [r.value for r in sums.process("clock", Cell("x"), 6, 6).finals] == [Cell("ab")]


def test_every_final_is_emitted_once_when_time_jumps_and_the_task_restarts(bench: Bench) -> None:
    sums = aggregate(bench, emission=Emission.BOTH)
    sums.process("b", Cell("x"), 0, 0)
    sums.process("a", Cell("y"), 0, 0)
    sums.process("a", Cell("z"), 12, 12)
    bench.commit()
    sums = aggregate(bench, emission=Emission.BOTH)
    outcome = sums.process("c", Cell("w"), 10**9, 10**9)
    assert [(r.key, r.window.end) for r in outcome.finals] == [("a", 0), ("b", 0), ("a", 12)]
    assert sums.close(10**9) == []


def test_an_open_session_is_not_emitted_with_those_that_close(bench: Bench) -> None:
    sums = aggregate(bench, emission=Emission.FINAL)
    sums.process("a", Cell("x"), 0, 0)
    sums.process("b", Cell("y"), 1, 1)
    assert [r.key for r in sums.close(16)] == ["a"]
    assert [r.key for r in sums.close(17)] == ["b"]


def test_the_next_close_is_that_of_the_earliest_open_session(bench: Bench) -> None:
    sums = aggregate(bench, emission=Emission.BOTH)
    assert sums.next_close() is None
    assert sums.process("a", Cell("x"), 3, 3).closes_at == 3 + 16
    assert sums.process("b", Cell("y"), 7, 7).closes_at == 7 + 16
    assert sums.next_close() == 3 + 16
    assert [r.key for r in sums.close(3 + 16)] == ["a"]
    assert sums.next_close() == 7 + 16
    assert [r.key for r in sums.close(7 + 16)] == ["b"]
    assert sums.next_close() is None


def test_the_next_close_follows_a_session_that_has_grown(bench: Bench) -> None:
    sums = aggregate(bench, emission=Emission.FINAL)
    sums.process("a", Cell("x"), 0, 0)
    sums.process("a", Cell("y"), 9, 9)
    assert sums.next_close() == 0 + 16
    assert sums.close(16) == []
    assert sums.next_close() == 9 + 16
    bench.commit()
    assert aggregate(bench, emission=Emission.FINAL).next_close() == 9 + 16


def test_an_older_session_that_opens_later_closes_first(bench: Bench) -> None:
    sums = aggregate(bench, emission=Emission.BOTH)
    sums.process("a", Cell("x"), 50, 50)
    sums.process("b", Cell("y"), 40, 50)
    assert sums.next_close() == 40 + 16
    assert [r.key for r in sums.close(40 + 16)] == ["b"]


def test_without_finals_nothing_ever_closes(bench: Bench) -> None:
    sums = aggregate(bench)
    assert sums.process("a", Cell("x"), 0, 0).closes_at is None
    assert sums.next_close() is None
    assert sums.close(10**9) == []


@pytest.mark.parametrize(
    ("closed", "window", "value"), [(Closed.MERGE, Window(0, 10), "ab"), (Closed.KEEP, Window(10, 10), "b")]
)
def test_a_closed_session_that_is_still_in_the_store_is_merged_or_kept_as_configured(
    bench: Bench, closed: Closed, window: Window, value: str
) -> None:
    store = bench.open(SessionStore("s", Cell, retention_ms=1_000))
    sums = SessionAggregate(store, SESSIONS, empty, append, join_texts, emission=Emission.BOTH, closed=closed)
    sums.process("k", Cell("a"), 0, 0)
    assert [r.window for r in sums.close(16)] == [Window(0, 0)]
    assert sums.process("k", Cell("b"), 10, 16).updates[-1] == WindowResult("k", window, Cell(value), window.end)


def test_a_session_is_always_merged_one_ms_before_its_close(bench: Bench) -> None:
    store = bench.open(SessionStore("s", Cell, retention_ms=1_000))
    sums = SessionAggregate(store, SESSIONS, empty, append, join_texts, closed=Closed.KEEP)
    sums.process("k", Cell("a"), 0, 0)
    assert sums.process("k", Cell("b"), 10, 15).updates[-1].window == Window(0, 10)


def test_a_store_that_keeps_less_than_gap_and_grace_is_refused() -> None:
    def declare(retention: int) -> None:
        SessionAggregate(SessionStore("s", Cell, retention_ms=retention), SESSIONS, empty, append, join_texts)

    with pytest.raises(ValueError, match=r"store s: retention_ms 14 .* at least 15 ms"):
        declare(14)
    declare(15)


@settings(deadline=None, max_examples=200)
@given(
    gap=st.integers(1, 8),
    grace=st.integers(0, 8),
    records=st.lists(st.tuples(st.sampled_from("ab"), st.integers(-20, 20)), max_size=30),
)
def test_the_results_equal_those_of_a_list_of_sessions(gap: int, grace: int, records: list[tuple[str, int]]) -> None:
    """The model never deletes a session, like a store with a long retention."""
    sessions = SessionWindows(gap, grace)
    model: dict[str, list[tuple[int, int, int]]] = {"a": [], "b": []}
    final: list[tuple[str, int, int, int]] = []
    finals: list[WindowResult[Cell]] = []
    now, bound = 0, -(10**9)
    with open_bench(Backend.IN_MEMORY) as bench:
        sums = aggregate(bench, sessions, Emission.BOTH, retention=10**6)
        for key, step in records:
            ts = max(0, now + step)
            now = max(now, ts)
            edge = now - grace - gap
            final += [(k, s, e, n) for k in model for s, e, n in model[k] if bound <= e < edge]
            bound = max(bound, edge)
            joined = [(s, e, n) for s, e, n in model[key] if e >= ts - gap and s <= ts + gap]
            start, end = min([ts, *(s for s, _, _ in joined)]), max([ts, *(e for _, e, _ in joined)])
            outcome = sums.process(key, Cell("x"), ts, now)
            finals += outcome.finals
            assert outcome.refused == (end < edge)
            if end >= edge:
                merged = (start, end, 1 + sum(n for _, _, n in joined))
                model[key] = [item for item in model[key] if item not in joined] + [merged]
                *tombstones, update = outcome.updates
                assert update == WindowResult(key, Window(start, end), Cell("x" * merged[2]), end)
                gone = sorted(joined, key=lambda s: (s[1], s[0])) if (start, end) != (ts, ts) else []
                assert tombstones == [WindowResult(key, Window(s, e), None, e) for s, e, _ in gone]
            bench.commit()
            live = [(s.key, s.start, s.end, len(s.value.json)) for s in sums.store.all()]
            assert sorted(live) == sorted((k, *item) for k in model for item in model[k])
    given_finals = [(r.key, r.window.start, r.window.end, len(r.value.json) if r.value else 0) for r in finals]
    assert sorted(given_finals) == sorted(final)
