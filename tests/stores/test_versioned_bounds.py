"""The versioned store's time bounds are exact to the millisecond on both sides."""

from __future__ import annotations

import pytest

from forebay.stores.versioned import NOT_PUT, SHORTEST_SEGMENT_MS, Order, Put, Version, VersionedKeyValueStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

H = 100


@pytest.fixture
def store(bench: Bench) -> VersionedKeyValueStore[Cell]:
    return bench.open(VersionedKeyValueStore("prices", Cell, history_retention_ms=H))


def v(text: str) -> Cell:
    return Cell(text)


def test_a_put_at_stream_time_minus_retention_is_accepted(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("clock", v("c"), 1_000)
    assert store.put("k", v("a"), 1_000 - H) == Put(None)
    assert store.dropped_total == 0


def test_a_put_one_ms_older_is_dropped_and_counted(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("clock", v("c"), 1_000)
    assert store.put("k", v("a"), 1_000 - H - 1) is NOT_PUT
    assert (store.dropped_total, store.get("k"), store.stream_time) == (1, None, 1_000)


def test_a_row_of_another_table_is_refused_only_if_its_key_has_a_later_version(
    store: VersionedKeyValueStore[Cell],
) -> None:
    store.put("clock", v("c"), 10_000)
    assert store.put_row("k", v("a"), 10) == Put(None)
    assert store.put_row("k", v("b"), 10) == Put(None)
    assert store.put_row("k", v("c"), 9) is NOT_PUT
    assert store.put_row("k", None, 11) == Put(None)
    assert store.put_row("other", v("d"), 0) == Put(None)
    assert (store.get("k"), store.get("other"), store.stream_time) == (None, Version(v("d"), 0, None), 10_000)
    assert store.dropped_total == 1


def test_versions_older_than_the_history_are_purged_with_later_ones(
    bench: Bench, store: VersionedKeyValueStore[Cell]
) -> None:
    for clock in range(20):
        store.put("clock", v("c"), clock * SHORTEST_SEGMENT_MS)
    store.put_row("deleted", v("a"), 1)
    store.put_row("deleted", None, 2)
    store.put_row("k", v("a"), 3)
    bench.commit()
    for clock in range(20, 30):
        store.put("clock", v("c"), clock * SHORTEST_SEGMENT_MS)
        bench.commit()
    assert [(key, value) for key, value, _ in store.history() if key != "clock"] == [("k", v("a"))]
    assert [row for row, _ in bench.table.scan(b"") if b"deleted" in row] == []


def test_valid_to_is_the_next_version_or_tombstone(store: VersionedKeyValueStore[Cell]) -> None:
    assert store.put("k", v("c"), 30) == Put(None)
    assert store.put("k", None, 20) == Put(30)
    assert store.put("k", v("a"), 10) == Put(20)
    assert store.put("k", v("b"), 20) == Put(30)
    assert store.put("kk", v("x"), 5) == Put(None)


def test_a_version_is_valid_from_its_own_timestamp(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 10)
    store.put("k", v("b"), 20)
    results = [store.get("k", as_of) for as_of in (9, 10, 19, 20, 21)]
    assert [entry and entry.value for entry in results] == [None, v("a"), v("a"), v("b"), v("b")]
    assert [item and item.valid_to for item in results] == [None, 20, 20, None, None]


def test_as_of_at_stream_time_minus_retention_is_inside_history(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 1_000 - H)
    store.put("k", v("b"), 1_000)
    assert store.get("k", 1_000 - H) == (v("a"), 1_000 - H, 1_000)
    store.put("clock", v("c"), 1_001)
    assert store.get("k", 1_000 - H) is None
    assert store.get("k", 1_001 - H) == (v("a"), 1_000 - H, 1_000)


def test_before_history_only_a_latest_version_old_enough_answers(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 10)
    store.put("gone", v("b"), 10)
    store.put("gone", None, 11)
    store.put("clock", v("c"), 1_000)
    assert store.get("k", 9) is None
    assert store.get("k", 10) == (v("a"), 10, None)
    assert store.get("gone", 10) is None
    assert store.get("gone", 11) is None


def test_latest_is_by_timestamp_and_never_expires(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("new"), 20)
    store.put("k", v("old"), 10)
    store.put("clock", v("c"), 10 * SHORTEST_SEGMENT_MS)
    assert store.get("k") == (v("new"), 20, None)


def test_delete_gives_the_version_valid_at_its_time(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 10)
    assert store.delete("k", 9) is None
    assert store.delete("k", 10) == (v("a"), 10, None)
    assert store.get("k") is None


def test_delete_at_stream_time_minus_retention_is_accepted_and_earlier_refused(
    store: VersionedKeyValueStore[Cell],
) -> None:
    store.put("k", v("a"), 800)
    store.put("clock", v("c"), 1_000)
    assert store.delete("k", 1_000 - H - 1) is None
    assert store.dropped_total == 1
    assert store.get("k") == (v("a"), 800, None)
    assert store.delete("k", 1_000 - H) == (v("a"), 800, None)
    assert store.dropped_total == 1


def test_a_range_takes_versions_that_overlap_it(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 10)
    store.put("k", v("b"), 20)
    store.put("k", None, 30)

    def values(low: int | None, high: int | None) -> list[Cell]:
        return [version.value for version in store.get_range("k", low, high)]

    assert values(20, 25) == [v("b")]
    assert values(19, 20) == [v("b"), v("a")]
    assert values(0, 9) == []
    assert values(0, 10) == [v("a")]
    assert values(29, 40) == [v("b")]
    assert values(30, 40) == []
    assert values(None, None) == [v("b"), v("a")]
    assert [entry.value for entry in store.get_range("k", order=Order.OLDEST_FIRST)] == [v("a"), v("b")]


def test_a_range_that_ends_before_history_gives_only_the_latest(store: VersionedKeyValueStore[Cell]) -> None:
    store.put("k", v("a"), 10)
    store.put("k", v("b"), 20)
    store.put("clock", v("c"), 20 + H)
    assert [entry.value for entry in store.get_range("k", 0, 20)] == [v("b"), v("a")]
    store.put("clock", v("c"), 21 + H)
    assert [entry.value for entry in store.get_range("k", 0, 20)] == [v("b")]
    assert list(store.get_range("k", 0, 19)) == []


def test_a_range_from_after_to_is_empty_with_a_warning(
    store: VersionedKeyValueStore[Cell], caplog: pytest.LogCaptureFixture
) -> None:
    store.put("k", v("a"), 0)
    assert [entry.value for entry in store.get_range("k", 1, 1)] == [v("a")]
    assert not caplog.text
    assert list(store.get_range("k", 2, 1)) == []
    assert "store prices" in caplog.text


def test_with_retention_zero_an_equal_timestamp_overwrites(bench: Bench) -> None:
    store = bench.open(VersionedKeyValueStore("now", Cell, history_retention_ms=0))
    store.put("k", v("a"), 10)
    assert store.put("k", v("b"), 10) == Put(None)
    assert store.put("k", v("c"), 9) is NOT_PUT
    assert store.get("k", 10) == (v("b"), 10, None)
    store.put("k", v("d"), 11)
    assert store.get("k", 10) is None


def test_an_empty_value_is_a_value(store: VersionedKeyValueStore[Cell], bench: Bench) -> None:
    store.put("k", v(""), 10)
    bench.commit()
    assert store.get("k") == (v(""), 10, None)


def test_a_negative_timestamp_is_refused(store: VersionedKeyValueStore[Cell]) -> None:
    with pytest.raises(ValueError, match=r"prices.*negative"):
        store.put("k", v("a"), -1)
    assert store.put("k", v("a"), 0) == Put(None)


def test_restored_versions_are_not_counted_as_dropped(store: VersionedKeyValueStore[Cell]) -> None:
    store.restore("clock", v("c"), 1_000)
    assert store.restore("k", v("a"), 1_000 - H - 1) is NOT_PUT
    assert store.restore("k", v("a"), 1_000 - H) == Put(None)
    assert store.dropped_total == 0


def test_versions_are_deleted_one_segment_after_the_history_retention(bench: Bench) -> None:
    store = bench.open(VersionedKeyValueStore("prices", Cell, history_retention_ms=0))
    segment = SHORTEST_SEGMENT_MS
    for timestamp in (0, 1, segment - 1, segment):
        store.put("k", v(str(timestamp)), timestamp)
    store.put("gone", v("a"), 5)
    store.put("gone", None, segment - 1)
    store.put("clock", v("c"), 2 * segment - 1)
    assert [item.timestamp for item in store.get_range("k")] == [segment, segment - 1, 1, 0]
    store.put("clock", v("c"), 2 * segment)
    assert [item.timestamp for item in store.get_range("k")] == [segment, segment - 1]
    bench.commit()
    store.put("clock", v("c"), 4 * segment)
    changes = dict(bench.commit())
    assert [item.timestamp for item in store.get_range("k")] == [segment]
    assert sum(value is None for key, value in changes.items() if key.startswith(b"prices\0k")) == 1
    assert not [key for key, _ in bench.table.scan(b"prices\0gone", b"prices\0gonf")]
