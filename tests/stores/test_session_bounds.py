"""The session store's time bounds are exact to the millisecond on both sides."""

from __future__ import annotations

import pytest

from forebay.stores.session import SessionStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

R = 100


@pytest.fixture
def store(bench: Bench) -> SessionStore[Cell]:
    return bench.open(SessionStore("sessions", Cell, retention_ms=R))


def v(text: str) -> Cell:
    return Cell(text)


def test_a_session_expires_at_the_retention(store: SessionStore[Cell]) -> None:
    store.put("k", 40, 50, v("a"))
    store.put("clock", 0, 50 + R - 1, v("c"))
    assert store.fetch_session("k", 40, 50) == v("a")
    assert [s.end for s in store.fetch("k")] == [50]
    store.put("clock", 0, 50 + R, v("c"))
    assert store.fetch_session("k", 40, 50) is None
    assert list(store.fetch("k")) == []
    assert list(store.backward_fetch("k")) == []
    assert [s.key for s in store.all()] == ["clock", "clock"]
    assert [s.key for s in store.fetch_key_range(None, "k")] == ["clock", "clock"]


def test_a_put_at_the_retention_is_refused_and_one_ms_later_accepted(store: SessionStore[Cell]) -> None:
    store.put("clock", 0, 1_000, v("c"))
    assert not store.put("k", 0, 1_000 - R, v("a"))
    assert store.dropped_total == 1
    assert store.put("k", 0, 1_000 - R + 1, v("a"))
    assert store.dropped_total == 1


def test_an_open_session_is_visible_and_accepted_at_the_retention(store: SessionStore[Cell]) -> None:
    store.put("k", 40, 50, v("a"))
    store.put("clock", 0, 50 + R, v("c"))
    assert [s.end for s in store.find_sessions("k", 0, 99, open_from=50)] == [50]
    assert list(store.find_sessions("k", 0, 99, open_from=51)) == []
    assert store.put("k", 41, 50, v("b"), open_from=50)
    assert not store.put("k", 42, 50, v("b"), open_from=51)


def test_find_sessions_takes_both_bounds(store: SessionStore[Cell]) -> None:
    for start, end in ((0, 9), (5, 10), (15, 20), (21, 30)):
        store.put("k", start, end, v(""))
    assert [(s.start, s.end) for s in store.find_sessions("k", 10, 15)] == [(5, 10), (15, 20)]
    assert [(s.start, s.end) for s in store.backward_find_sessions("k", 10, 15)] == [(15, 20), (5, 10)]
    assert [(s.start, s.end) for s in store.find_sessions("k", 11, 14)] == []
    assert [s.end for s in store.find_sessions_by_end(10, 20)] == [10, 20]


def test_key_ranges_take_both_bounds(store: SessionStore[Cell]) -> None:
    for key in ("a", "b", "c", "d"):
        store.put(key, 0, 9, v(""))
        store.put(key, 5, 10, v(""))
    rows = [(s.key, s.end) for s in store.find_sessions_key_range("b", "c", 10, 5)]
    assert rows == [("b", 10), ("c", 10)]
    assert list(store.find_sessions_key_range("b", "c", 10, 4)) == []
    assert [s.key for s in store.backward_fetch_key_range("c", None)] == ["d", "c", "d", "c"]


def test_sessions_of_a_key_never_mix_with_those_of_a_longer_key(store: SessionStore[Cell]) -> None:
    store.put("a", 0, 1, v("1"))
    store.put("aa", 0, 1, v("2"))
    assert [s.value for s in store.fetch("a")] == [v("1")]


def test_remove_and_null_delete_exactly_one_session(store: SessionStore[Cell], bench: Bench) -> None:
    for start in (1, 2, 3):
        store.put("k", start, 10, v(""))
    bench.commit()
    store.remove("k", 1, 10)
    store.put("k", 2, 10, None)
    store.remove("k", 7, 10)
    assert [s.start for s in store.all()] == [3]


def test_a_session_may_last_a_moment_but_not_end_before_it_starts(store: SessionStore[Cell]) -> None:
    assert store.put("k", 5, 5, v(""))
    with pytest.raises(ValueError, match="sessions"):
        store.put("k", 5, 4, v(""))


def test_expired_sessions_are_deleted_in_the_changelog_one_ms_after_they_expired(
    store: SessionStore[Cell], bench: Bench
) -> None:
    store.put("k", 0, 10, v("a"))
    bench.commit()
    store.put("clock", 0, 10 + R, v("c"))
    assert all(value is not None for key, value in bench.commit() if key.startswith(b"sessions\0"))
    store.put("clock", 0, 11 + R, v("c"))
    assert any(value is None for key, value in bench.commit() if key.startswith(b"sessions\0k"))


def test_an_expired_session_is_not_shown_while_its_row_is_still_there(bench: Bench) -> None:
    retention = 6_400
    store = bench.open(SessionStore("sessions", Cell, retention_ms=retention))
    store.put("k", 40, 50, v("a"))
    store.put("clock", 0, 49 + retention, v("c"))
    assert [session.key for session in store.fetch("k")] == ["k"]
    assert [session.key for session in store.fetch_key_range("k", "k")] == ["k"]
    assert store.fetch_session("k", 40, 50) == v("a")
    store.put("clock", 0, 50 + retention, v("c"))
    assert any(key.startswith(b"sessions\0k") for key, value in bench.commit() if value is not None)
    assert store.fetch_session("k", 40, 50) is None
    assert list(store.fetch("k")) == list(store.backward_fetch("k")) == []
    assert [session.key for session in store.find_sessions_by_end(0, 50)] == []
    assert list(store.fetch_key_range("k", "k")) == []


def test_the_first_end_is_found_from_its_own_time_on(store: SessionStore[Cell], bench: Bench) -> None:
    assert store.first_end(0) is None
    store.put("b", 0, 20, v(""))
    bench.commit()
    store.put("a", 5, 10, v(""))
    assert [store.first_end(at) for at in (0, 10, 11, 20, 21)] == [10, 10, 20, 20, None]


def test_a_merge_replaces_the_absorbed_sessions_with_one_session(store: SessionStore[Cell], bench: Bench) -> None:
    store.put("k", 0, 10, v("a"))
    store.put("k", 20, 30, v("b"))
    store.put("k", 50, 60, v("c"))
    bench.commit()
    assert store.merge("k", list(store.find_sessions("k", 0, 30)), 0, 30, v("ab"))
    assert [(s.start, s.end, s.value) for s in store.fetch("k")] == [(0, 30, v("ab")), (50, 60, v("c"))]
    assert [s.end for s in store.all()] == [30, 60]


def test_a_merge_may_keep_the_bounds_of_what_it_absorbs(store: SessionStore[Cell], bench: Bench) -> None:
    store.put("k", 0, 10, v("a"))
    bench.commit()
    assert store.merge("k", list(store.fetch("k")), 0, 10, v("b"))
    bench.commit()
    assert [(s.key, s.start, s.end, s.value) for s in store.all()] == [("k", 0, 10, v("b"))]


def test_a_merge_that_is_expired_is_refused_and_changes_nothing(store: SessionStore[Cell]) -> None:
    store.put("k", 0, 10, v("a"))
    absorbed = list(store.fetch("k"))
    store.put("clock", 0, 10 + R, v("c"))
    assert not store.merge("k", absorbed, 5, 10, v("b"))
    assert store.dropped_total == 1
    assert store.merge("k", absorbed, 5, 10, v("b"), open_from=10)
    assert [(s.start, s.value) for s in store.find_sessions("k", 0, 99, open_from=10)] == [(5, v("b"))]
