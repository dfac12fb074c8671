"""Deletes the rows of stores that no statement can declare again, because their query was dropped or terminated."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from itertools import islice

from forebay.processor.bound_stores import declared_stores
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.orphaned_rows import parked_row
from forebay.runtime.task.state_task import StateTask
from forebay.stores.filled import encode_states, read_filled
from forebay.stores.internal import FILLED, KINDS, PARKED, TIMERS, timer_of
from forebay.stores.materialized import store_of
from forebay.stores.table import Change, Table, prefix_end

log = logging.getLogger(__name__)

_MOST = 50_000
"""Rows deleted in one transaction, because a store may be large and a transaction must end in time."""
_INTERNAL = b"\x01"

HasEnded = Callable[[str], bool]
"""Returns whether a store belonged to a query that was dropped or terminated."""


def deletions(task: StateTask, position: TaskPosition) -> Iterator[TaskCommit]:
    """Yield commits that delete the rows of such stores. The caller applies each one before it asks for the next."""
    has_ended: HasEnded | None = getattr(task.engine.processor, "has_ended", None)
    if has_ended is None:
        return
    declared = {store.name for _, store in declared_stores(task.engine.processor)}
    for changes in row_deletions(task.table, lambda name: name not in declared and has_ended(name)):
        commit = task.commit_of(changes, position)
        position = commit.position
        yield commit


def row_deletions(table: Table, has_ended: HasEnded, most: int | None = None) -> Iterator[list[Change]]:
    """Yield changes that delete the rows of ended stores, at most `most` at once.

    The records of the stores' declarations go last, so that an interrupted deletion is continued.
    """
    most = most or _MOST
    declarations = [row for row, _ in table.scan(KINDS, prefix_end(KINDS)) if has_ended(_store_of(row))]
    for row in declarations:
        prefix = row[len(KINDS) :] + b"\0"
        while rows := list(islice(table.scan(prefix, prefix_end(prefix)), most)):
            yield [(key, None) for key, _ in rows]
    own = [*_filled_changes(table, has_ended), *_parked_changes(table, has_ended)]
    if declarations:
        others = (row for row, _ in table.scan(_INTERNAL, prefix_end(_INTERNAL)) if not row.startswith(KINDS))
        own += [(row, None) for row in others if has_ended(_store_of(row))]
    own += [(row, None) for row in declarations]
    for start in range(0, len(own), most):
        yield own[start : start + most]
    if declarations:
        names = ", ".join(map(_store_of, declarations))
        log.info("deleted the rows of the stores %s, whose queries were dropped", names)


def _store_of(row: bytes) -> str:
    """Return the name of the store of a row, of its declaration or of its timer, which is named after it."""
    if row.startswith(KINDS):
        return row[len(KINDS) :].decode()
    if row.startswith(TIMERS):
        return timer_of(row)[0].partition(": ")[2]
    return store_of(row).decode(errors="replace")  # event ids aren't text


def _filled_changes(table: Table, has_ended: HasEnded) -> Iterator[Change]:
    """Yield the changes of the records of which stores have the rows of a table."""
    for name, states in read_filled(table).items():
        lasting = {store: state for store, state in states.items() if not has_ended(store)}
        if has_ended(name):
            yield FILLED + name.encode(), None
        elif lasting != states:
            yield FILLED + name.encode(), encode_states(lasting)


def _parked_changes(table: Table, has_ended: HasEnded) -> Iterator[Change]:
    """Yield the changed rows of removed sub-topologies. Records of filled stores are never parked."""
    for key, _ in table.scan(PARKED, prefix_end(PARKED)):
        if has_ended(_store_of(parked_row(key)[1])):
            yield key, None
