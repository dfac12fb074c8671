"""Deletes the rows of stores that no statement can declare again, because their query was dropped or terminated."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from forebay.processor.batch import BatchResult
from forebay.processor.bound_stores import declared_stores
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.orphaned_rows import parked_row
from forebay.runtime.task.state_task import StateTask
from forebay.stores.internal import FILLED, KINDS, PARKED
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
        position = replace(position, n=position.n + 1)
        result = BatchResult(changes=changes)
        yield TaskCommit(task.settings.name, task.sender, result, position, task.changelogs)


def row_deletions(table: Table, has_ended: HasEnded, most: int | None = None) -> Iterator[list[Change]]:
    """Yield changes that delete the rows of ended stores, at most `most` at once.

    The records of the stores' declarations go last, so that an interrupted deletion is continued.
    """
    most = most or _MOST
    declarations = [row for row, _ in table.scan(KINDS, prefix_end(KINDS)) if has_ended(_name_of(row))]
    for row in declarations:
        prefix = row[len(KINDS) :] + b"\0"
        while rows := list(islice(table.scan(prefix, prefix_end(prefix)), most)):
            yield [(key, None) for key, _ in rows]
    own = [*_filled_changes(table, has_ended), *_parked_changes(table, has_ended)]
    if declarations:
        marks = table.scan(_INTERNAL, prefix_end(_INTERNAL))
        own += [(row, None) for row, _ in marks if has_ended(_store_of(row))]
    own += [(row, None) for row in declarations]
    for start in range(0, len(own), most):
        yield own[start : start + most]
    if declarations:
        log.info(
            "deleted the rows of the stores %s, whose queries were dropped", ", ".join(map(_name_of, declarations))
        )


def _name_of(declaration: bytes) -> str:
    return declaration[len(KINDS) :].decode()


def _store_of(row: bytes) -> str:
    return store_of(row).decode(errors="replace")  # event ids aren't text


def _filled_changes(table: Table, has_ended: HasEnded) -> Iterator[Change]:
    """Yield the changed records of which stores have the rows of a table."""
    for row, value in table.scan(FILLED, prefix_end(FILLED)):
        changed = _without_ended(row, value, has_ended)
        if changed != value:
            yield row, changed


def _parked_changes(table: Table, has_ended: HasEnded) -> Iterator[Change]:
    """Yield the changed rows of removed sub-topologies."""
    for key, value in table.scan(PARKED, prefix_end(PARKED)):
        row = parked_row(key)[1]
        if row.startswith(FILLED):
            changed = _without_ended(row, value, has_ended)
            if changed != value:
                yield key, changed
        elif has_ended(_name_of(row) if row.startswith(KINDS) else _store_of(row)):
            yield key, None


def _without_ended(row: bytes, value: bytes, has_ended: HasEnded) -> bytes | None:
    """Return what is recorded of the stores behind a table, without ended ones. None: the table has ended itself."""
    if has_ended(row[len(FILLED) :].decode()):
        return None
    states: dict[str, object] = json.loads(value)
    lasting = {name: state for name, state in states.items() if not has_ended(name)}
    return value if lasting == states else json.dumps(lasting, ensure_ascii=False, sort_keys=True).encode()
