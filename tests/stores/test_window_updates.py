"""A window's entry can be updated in one step, and the store returns the first start of its visible windows."""

from __future__ import annotations

import pytest

from forebay.stores.values import Stamped
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates, WindowEntry
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell

R = 100


@pytest.fixture
def store(bench: Bench) -> WindowStore[Cell]:
    return bench.open(WindowStore("metrics", Cell, size_ms=10, retention_ms=R))


def test_an_update_receives_the_current_value_and_keeps_the_largest_timestamp(
    bench: Bench, store: WindowStore[Cell]
) -> None:
    assert store.update("k", 10, 15, lambda found: Cell("new" if found is None else "?")) == Stamped(Cell("new"), 15)
    bench.commit()
    assert store.update("k", 10, 12, lambda found: Cell(f"{found.json}+" if found else "?")) == Stamped(
        Cell("new+"), 15
    )
    assert store.fetch_one("k", 10) == WindowEntry("k", 10, Cell("new+"), 15)
    assert [entry.key for entry in store.fetch_all(0, 100)] == ["k"]


def test_an_expired_window_is_refused_without_calling_the_update(store: WindowStore[Cell]) -> None:
    asked: list[Cell | None] = []

    def change(found: Cell | None) -> Cell:
        asked.append(found)
        return Cell("a")

    store.update("clock", 1000, 1000, change)
    assert store.update("k", 1000 - R, 1000, change) is None
    assert store.dropped_total == 1
    assert store.update("k", 1000 - R + 1, 1000, change) is not None
    assert asked == [None, None]


def test_a_failed_update_changes_nothing(bench: Bench, store: WindowStore[Cell]) -> None:
    def fail(_: Cell | None) -> Cell:
        raise ValueError

    store.put("k", Cell("a"), 10)
    bench.commit()
    with pytest.raises(ValueError):  # noqa: PT011
        store.update("k", 10 + 2 * R, 10 + 2 * R, fail)
    bench.roll_back()
    assert store.fetch_one("k", 10) == WindowEntry("k", 10, Cell("a"), 10)


def test_a_value_of_another_type_is_refused(store: WindowStore[Cell]) -> None:
    with pytest.raises(TypeError, match="store metrics holds Cell, not str"):
        store.update("k", 10, 10, lambda _: "text")  # type: ignore[arg-type, return-value]


def test_a_store_that_keeps_duplicates_has_no_one_entry_to_update(bench: Bench) -> None:
    store = bench.open(WindowStore("m", Cell, size_ms=10, retention_ms=R, duplicates=Duplicates.KEEP))
    with pytest.raises(TypeError, match="store m keeps duplicates"):
        store.update("k", 10, 10, lambda _: Cell("a"))


def test_the_first_start_is_that_of_the_earliest_visible_window(bench: Bench, store: WindowStore[Cell]) -> None:
    assert store.first_start(0) is None
    for start in (30, 10, 20):
        store.put("k", Cell("a"), start)
    assert [store.first_start(start) for start in (0, 10, 11, 21, 31)] == [10, 10, 20, 30, None]
    store.put("k", None, 10)
    bench.commit()
    assert store.first_start(0) == 20
    store.put("k", Cell("a"), 20 + R)
    assert store.first_start(0) == 30
