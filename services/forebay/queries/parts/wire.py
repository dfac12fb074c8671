"""Messages between parts. Rows are sent as they are stored, so that the receiver reads them like its own."""

from __future__ import annotations

from typing import Any

import msgspec

from forebay.queries.entries import Entry
from forebay.queries.reads import Bounds
from forebay.queries.stores import JobStores, NotCurrent, Reached

CONTENT = "application/msgpack"


class Ask(msgspec.Struct, frozen=True, array_like=True):
    """A request to read one part's rows.

    Args:
        key: key to read; None: all keys.
        limit: maximum number of entries.
    """

    store: str
    key: str | None
    bounds: Bounds
    limit: int


class Wait(msgspec.Struct, frozen=True, array_like=True):
    """A request to wait for offsets, for at most `seconds`. The response contains those that were not reached."""

    wanted: list[Reached]
    seconds: float


class Row(msgspec.Struct, frozen=True, array_like=True):
    """An entry of a task, with its encoded value; None: no value."""

    task: int
    key: str
    value: bytes | None
    start: int | None = None
    end: int | None = None
    timestamp: int | None = None
    valid_to: int | None = None

    def entry(self, value: Any) -> Entry:
        """Return the entry, with its decoded value."""
        return Entry(self.key, value, self.start, self.end, self.timestamp, self.valid_to)


class Rows(msgspec.Struct, frozen=True, array_like=True):
    """The rows of a part.

    Args:
        rows: of one key: in the order of tasks; of all keys: in the store's order.
        tasks: number of the job's tasks in all parts.
        commit_age_ms, checked_age_ms: see `JobStores.ages`.
    """

    rows: list[Row]
    batches: dict[int, int]
    tasks: int
    commit_age_ms: int | None
    checked_age_ms: int


def rows_of(stores: JobStores, ask: Ask) -> Rows:
    """Return the rows of this part that a request asks for. Raises UnknownStore, WrongQuery, NotCurrent."""
    check_begun(stores)
    batches, entries = stores.scan_encoded(ask.store, ask.key, ask.bounds, ask.limit)
    ages = stores.ages(ask.store)
    rows = [
        Row(task, entry.key, entry.value, entry.start, entry.end, entry.timestamp, entry.valid_to)
        for task, entry in entries
    ]
    return Rows(rows, batches, stores.tasks, ages["commit_age_ms"], ages["checked_age_ms"] or 0)


def check_begun(stores: JobStores) -> None:
    """Raise NotCurrent if the tasks are not known yet, because a result without rows would look like an empty store."""
    if not stores.tasks:
        raise NotCurrent("the changelogs are still being read: retry in a moment")
