"""A scan returns each row in its state when the scan reaches it, including uncommitted changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.stores.keyvalue import KeyValueStore
from forebay.testing.bench import Backend, Bench, open_bench
from forebay.testing.cell import Cell

pytestmark = pytest.mark.long

KEYS = "abcdefgh"


def store_of(bench: Bench, committed: str, changed: str = "") -> KeyValueStore[Cell]:
    store = bench.open(KeyValueStore("s", Cell))
    for key in committed:
        store.put(key, Cell(key))
    bench.commit()
    for key in changed:
        store.put(key, Cell(key))
    return store


def test_a_row_put_ahead_of_the_scan_is_returned_and_one_behind_it_is_not(bench: Bench) -> None:
    store = store_of(bench, "bd")
    scan = store.all()
    assert next(scan)[0] == "b"
    store.put("a", Cell("behind"))
    store.put("c", Cell("ahead"))
    store.put("d", Cell("changed"))
    assert list(scan) == [("c", Cell("ahead")), ("d", Cell("changed"))]


def test_a_row_deleted_ahead_of_the_scan_is_not_returned(bench: Bench) -> None:
    store = store_of(bench, "abd", "c")
    scan = store.reverse_all()
    assert next(scan)[0] == "d"
    store.delete("c")
    store.delete("b")
    assert list(scan) == [("a", Cell("a"))]


def test_rows_rolled_back_during_a_scan_are_not_returned(bench: Bench) -> None:
    store = store_of(bench, "a")
    bench.journal.commit()
    store.put("b", Cell("b"))
    scan = store.all()
    assert next(scan)[0] == "a"
    bench.roll_back()
    assert list(scan) == []


def live(rows: dict[str, Cell], position: str | None, backwards: bool) -> tuple[str, Cell] | None:
    ahead = [k for k in rows if position is None or (k < position if backwards else k > position)]
    key = (max if backwards else min)(ahead, default=None)
    return None if key is None else (key, rows[key])


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@settings(deadline=None, max_examples=150)
@given(
    committed=st.sets(st.sampled_from(KEYS)),
    changed=st.sets(st.sampled_from(KEYS)),
    edits=st.lists(st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), max_size=3), max_size=10),
)
def test_a_scan_is_a_walk_over_the_live_rows(
    backwards: bool, committed: set[str], changed: set[str], edits: list[list[tuple[str, bool]]]
) -> None:
    for backend in Backend:
        with open_bench(backend) as bench:
            store = store_of(bench, "".join(sorted(committed)), "".join(sorted(changed)))
            rows = {key: Cell(key) for key in committed | changed}
            scan = store.reverse_all() if backwards else store.all()
            position = None
            for number, edit in enumerate([*edits, []]):
                expected = live(rows, position, backwards)
                assert next(scan, None) == expected
                if expected is None:
                    break
                position = expected[0]
                for key, deletes in edit:
                    store.put(key, None if deletes else Cell(f"{key}{number}"))
                    rows.pop(key, None)
                    if not deletes:
                        rows[key] = Cell(f"{key}{number}")
