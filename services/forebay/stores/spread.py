"""Assignment of the rows of a job's tasks to another number of tasks, by the record keys of the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from math import gcd
from typing import Any, NamedTuple

from forebay.formats.identities import Misread
from forebay.partitioner import Partitioner
from forebay.stores.binding import Store
from forebay.stores.event_ids import PREFIX as EVENT_IDS
from forebay.stores.event_ids import merge_rows
from forebay.stores.filled import States, decode_states, encode_states, merge_states
from forebay.stores.internal import FILLED, FILLED_TOPIC, KINDS, PARKED, PARKED_TIMES, TIMERS, timer_of
from forebay.stores.keys import WIDTH, unpack_time
from forebay.stores.layout import OWN
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.layouts import merge_recorded

Row = tuple[bytes, bytes]
RecordKey = Callable[[str, str], str | bytes | None]
"""Returns the record key (text or bytes) to which a key of a store or timer belongs, by name and key. None: it belongs
to the whole task."""
Merge = Callable[[bytes, bytes], bytes]

_ENDING_OF_TIMES = b"\0" + PARKED_TIMES
_MARKS = "marks"

# Merge times from which a store searches by taking the smallest one. With a larger one, rows of the other tasks would
# never be found. Merge times that were reached, and counters, by taking the largest one, so that no number is used
# twice.
_LEAST = (b"first-time", b"first-due", b"close-due", b"open-from", b"purge-due", b"next-close")
_MOST = (b"latest", b"stream-time", b"puts", b"closed-start", b"closed-before")


class NotSpreadable(Exception):
    """Rows can't be assigned to other tasks. The message says which ones and why."""


class _Place(NamedTuple):
    """The assignment of a row.

    Args:
        owner: Its new task. None: all tasks that get keys of its task.
        merge: Function that merges it with another task's row with the same key.
        by_all: Whether it is only kept if all these tasks have one (the position of a purge).
    """

    owner: int | None
    merge: Merge
    by_all: bool = False


class Spreader:
    """The assignment of rows to a new number of tasks.

    A task's own rows (marks of its stores, event ids, timers without a record key) are assigned to every task that gets
    some of its keys. If a task gets several such rows, event ids are combined. Of times and counters, it gets the value
    that is safe for all of them.

    Args:
        stores: Declared stores.
        record_key: Function that returns the record key of a row.
        before: Number of tasks so far.
        after: New number of tasks.
    """

    def __init__(self, stores: Iterable[Store[Any]], record_key: RecordKey, before: int, after: int) -> None:
        self._stores = {store.name: store for store in stores}
        self._record_key = record_key
        self._before, self._after = Partitioner(before), Partitioner(after)

    def spread(self, tables: Sequence[Iterable[Row]]) -> list[dict[bytes, bytes]]:
        """Return the rows of each new task.

        Args:
            tables: Rows of each task so far.

        Raises:
            NotSpreadable: A row can't be assigned to another task.
        """
        new: list[dict[bytes, bytes]] = [{} for _ in range(self._after.partitions)]
        holders: dict[tuple[int, bytes], int] = {}
        for task, rows in enumerate(tables):
            heirs = self.heirs(task)
            for key, value in rows:
                place = self._place(task, key)
                shown = _without_senders(value) if key.startswith(PARKED) and key.endswith(_ENDING_OF_TIMES) else value
                for heir in heirs if place.owner is None else (place.owner,):
                    known = new[heir].get(key)
                    new[heir][key] = shown if known is None else place.merge(known, shown)
                    if place.by_all:
                        holders[heir, key] = holders.get((heir, key), 0) + 1
        # If some of the tasks have no purge position, the purge must begin at the first row of the index.
        for (heir, key), count in holders.items():
            if count < len(self.ancestors(heir)):
                del new[heir][key]
        return [_with_ids_joined(rows) for rows in new]

    def heirs(self, task: int) -> list[int]:
        """Return the new tasks that get keys of a task."""
        step = gcd(self._before.partitions, self._after.partitions)
        return list(range(task % step, self._after.partitions, step))

    def ancestors(self, task: int) -> list[int]:
        """Return the tasks whose keys a new task gets."""
        step = gcd(self._before.partitions, self._after.partitions)
        return list(range(task % step, self._before.partitions, step))

    def _place(self, task: int, row: bytes) -> _Place:
        if row.startswith(EVENT_IDS):
            # Ids have a fixed length, so that rows can be concatenated. `merge_rows` splits them again.
            return _Place(None, lambda one, other: one + other)
        if row.startswith(KINDS):
            return _Place(None, _same)
        if row.startswith(LAYOUTS):
            return _Place(None, _merge_layouts)
        if row.startswith(FILLED):
            return _Place(None, merge_filled)
        if row.startswith(TIMERS):
            name, key = timer_of(row)
            return _Place(None if key is None else self._owner(task, f"timer {name}", name, key), min)
        if row.startswith(PARKED):
            return _Place(None, max if row.endswith(_ENDING_OF_TIMES) else min)
        kind, store, rest = _parts(row)
        if kind == _MARKS:
            return _Place(None, _merge_of(store, rest))
        declared = self._stores.get(store)
        place = None if declared is None else declared.key_places.get(kind)
        if declared is None or place is None:
            known = "is not declared" if declared is None else f"of the format {declared.kind!r} can't be spread"
            remedy = ": add the statement or operator that had it, and rescale the job then" if declared is None else ""
            raise NotSpreadable(
                f"store {store} {known}, so its rows can't be assigned to another number of tasks{remedy}"
            )
        if not rest and kind != OWN:
            return _Place(None, min, by_all=True)
        if declared.is_global:
            return _Place(None, lambda one, _: one)
        return _Place(self._owner(task, f"store {store}", store, place.key(rest)), _never_twice)

    def _owner(self, task: int, what: str, name: str, key: str) -> int | None:
        record_key = self._record_key(name, key)
        if record_key is None:
            return None
        encoded = record_key if isinstance(record_key, bytes) else record_key.encode()
        # Compare this with the task that has the row. If the input is partitioned differently, later records of the key
        # would be in another task than its rows.
        home = self._before(encoded)
        if home != task:
            raise NotSpreadable(
                f"{what}, key {key!r}: task {task} holds it, but records with the key "
                f"{record_key!r} belong to task {home}: the input is not partitioned by key "
                "with Kafka's default partitioner (murmur2), or the processor's record_key() "
                "is wrong for it. This job can't be rescaled"
            )
        return self._after(encoded)


def _with_ids_joined(rows: dict[bytes, bytes]) -> dict[bytes, bytes]:
    ids = {key: value for key, value in rows.items() if key.startswith(EVENT_IDS)}
    return {**{key: value for key, value in rows.items() if key not in ids}, **merge_rows(ids)}


def _parts(row: bytes) -> tuple[str, str, bytes]:
    """Return a row's kind, its store and the rest of its key."""
    if not row.startswith(b"\x01"):
        store, _, rest = row.partition(b"\0")
        return OWN, store.decode(), rest
    kind, store, rest = row[1:].split(b"\0", 2)
    return kind.decode(), store.decode(), rest


@cache
def _merge_of(store: str, mark: bytes) -> Merge:
    if mark in _LEAST:
        return lambda one, other: min(one, other, key=unpack_time)
    if mark in _MOST:
        return lambda one, other: max(one, other, key=unpack_time)
    raise NotSpreadable(f"store {store} keeps {mark.decode()!r} of its task, which can't be moved to other tasks")


def _same(one: bytes, other: bytes) -> bytes:
    if one != other:
        raise NotSpreadable(f"tasks recorded different declarations of a store: {one!r} and {other!r}")
    return one


def merge_filled(one: bytes, other: bytes) -> bytes:
    """Return the record of which stores have the rows of a table, for the rows of two tasks.

    Raises:
        NotSpreadable: A task has not sent all rows yet.
    """
    read = [decode_states(one), decode_states(other)]
    states: States = {}
    for store in dict.fromkeys((*read[0], *read[1])):
        known = [record[store] for record in read if store in record]
        # A task whose record lacks a store got its first rows while the topology did not have the store.
        is_missed = len(known) < len(read) or any("missed" in state for state in known)
        if not is_missed:
            states[store] = merge_states(known)
        elif not store.startswith(FILLED_TOPIC):  # a topic gets all rows again
            states[store] = {"missed": True}
    filling = [store for record in read for store, state in record.items() if "sent" in state]
    if filling:
        what = f"the {filling[0]}" if filling[0].startswith(FILLED_TOPIC) else f"the store {filling[0]}"
        raise NotSpreadable(
            f"{what} was added and has not got all rows of its table: let the job run until its log says that it has "
            "them, and rescale it then"
        )
    return encode_states(states)


def _merge_layouts(one: bytes, other: bytes) -> bytes:
    try:
        return merge_recorded(one, other)
    except Misread as error:
        raise NotSpreadable(f"tasks recorded different formats of a store, which {error}") from None


def _never_twice(one: bytes, other: bytes) -> bytes:
    raise NotSpreadable("two tasks hold the same row")


def _without_senders(times: bytes) -> bytes:
    """Return parked times without the senders' offsets, which belong to the partition of one task."""
    return times[:WIDTH] + json.dumps(json.loads(times[WIDTH:]) | {"senders": [], "done": []}).encode()
