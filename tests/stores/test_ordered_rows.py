"""Rows in memory behave like a dict with sorted keys, also if there are enough rows for several internal pieces."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from forebay.stores.ordered import OrderedRows, PythonRows, ordered_rows
from forebay.stores.sizes import StoreSizes
from forebay.stores.table import Change

Model = dict[bytes, bytes]


class Pair:
    """Rows in memory and a dict as their model."""

    def __init__(self, seed: int, made: Callable[[], OrderedRows] = ordered_rows) -> None:
        self.random = random.Random(seed)
        self.rows = made()
        self.sizes = StoreSizes()
        self.model: Model = {}

    def apply(self, changes: list[Change]) -> None:
        """Apply changes to the rows and to the model."""
        self.rows.apply(changes, self.sizes.held_by)
        for key, value in changes:
            if value is None:
                self.model.pop(key, None)
            else:
                self.model[key] = value

    def key(self, space: int) -> bytes:
        """Return a random key, of one of two stores or of no store."""
        return self.random.choice([b"one\0", b"two\0", b""]) + b"%d" % self.random.randrange(space)

    def value(self) -> bytes | None:
        """Return a random value of several sizes, or None to delete the row."""
        choice = self.random.random()
        return None if choice < 0.4 else self.random.randbytes(self.random.choice([0, 3, 40, 900]))

    def check(self) -> None:
        """Compare the results of all kinds of reads with the model."""
        entries = sorted(self.model.items())
        assert len(self.rows) == len(entries)
        assert list(self.rows.scan(b"")) == entries
        assert list(self.rows.scan_reverse(b"")) == entries[::-1]
        assert all(self.rows.get(key) == value for key, value in entries)
        assert self.sizes.total == sum(len(key) + len(value) for key, value in entries)
        low, high = sorted((self.key(9_999), self.key(9_999)))
        inside = [(key, value) for key, value in entries if low <= key < high]
        assert list(self.rows.scan(low, high)) == inside
        assert list(self.rows.scan_reverse(low, high)) == inside[::-1]


@pytest.mark.parametrize("seed", range(6))
def test_many_rows_can_be_inserted_changed_and_deleted(seed: int) -> None:
    pair = Pair(seed)
    for size in (1, 3_000, 5, 8_000, 700, 0, 2_000):
        changes = [(pair.key(4_000), pair.value()) for _ in range(size)]
        pair.apply(sorted(changes, key=lambda change: change[0]) if size == 8_000 else changes)
        if seed % 2 or size == 2_000:
            pair.check()


@pytest.mark.parametrize("part", [slice(None), slice(0, 4_000), slice(1_000, None), slice(None, None, 2)])
def test_all_rows_can_be_deleted_and_inserted_again(part: slice) -> None:
    pair = Pair(1)
    keys = [b"one\0%05d" % number for number in range(5_000)]
    for value in (b"first", b"second one"):
        pair.apply([(key, value) for key in keys])
        pair.check()
        pair.apply([(key, None) for key in keys[part]])
        pair.check()
        pair.rows.clear()
        pair.sizes.clear()
        pair.model.clear()
        pair.check()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_scan_gives_entries_as_they_are_when_it_reaches_them(seed: int, descending: bool) -> None:
    pair = Pair(seed)
    pair.apply([(pair.key(3_000), b"x") for _ in range(4_000)])
    reached: list[bytes] = []
    at_once = set(pair.model)
    for key, value in (pair.rows.scan_reverse if descending else pair.rows.scan)(b""):
        assert pair.model[key] == value
        reached.append(key)
        if pair.random.random() < 0.3:
            other = pair.random.choice([key, pair.key(3_000)])
            pair.apply([(other, pair.value())])
            at_once.discard(other)
    assert reached == sorted(set(reached), reverse=descending)
    assert at_once <= set(reached), "a row that was there all the time was passed over"
    pair.check()


def test_a_scan_ends_if_all_rows_are_cleared() -> None:
    pair = Pair(1)
    pair.apply([(b"%d" % number, b"x") for number in range(10)])
    scan = pair.rows.scan(b"")
    assert next(scan) == (b"0", b"x")
    pair.rows.clear()
    assert list(scan) == []


@pytest.mark.parametrize("made", [ordered_rows, PythonRows])
def test_changes_that_end_in_an_error_are_counted_as_far_as_they_went(made: Callable[[], OrderedRows]) -> None:
    pair = Pair(1, made)

    with pytest.raises((TypeError, AttributeError)):
        pair.apply([(b"one\0a", b"1"), (None, b"2")])  # type: ignore[list-item]
    assert (len(pair.rows), pair.sizes.total) == (1, 6)


def test_a_value_other_than_bytes_is_refused() -> None:
    rows, held_by = ordered_rows(), StoreSizes().held_by
    for change in (("text", b"a"), (b"a", 1)):
        with pytest.raises((TypeError, AttributeError)):
            rows.apply([change], held_by)  # type: ignore[list-item]
