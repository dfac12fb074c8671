"""Records of which stores have a table's rows, if the stores now get them from another table of the topology.

Statements that are added or removed can decide whether a store gets the rows of a table itself or of its copy behind a
repartition. The record is then in another task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from forebay.processor.bound_stores import declared_stores
from forebay.processor.filling import Filling, fillings_of
from forebay.runtime.errors import StoreChanged
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail
from forebay.stores.filled import State, States, encode_states, merge_states, read_filled
from forebay.stores.internal import FILLED
from forebay.stores.table import Change


@dataclass
class _Records:
    """The records of one task's table, by the table whose rows the stores have."""

    task: StateTask | None
    states: dict[str, States]
    changed: set[str] = field(default_factory=set)

    def find(self, name: str) -> Iterator[tuple[str, State]]:
        """Yield (table, state) of a store or topic."""
        for table, states in self.states.items():
            if name in states:
                yield table, states[name]

    @property
    def name(self) -> str:
        """Name of the task."""
        return "" if self.task is None else self.task.settings.name

    def list_new(self) -> list[tuple[str, Filling, str]]:
        """Return (table, filling, name) of the stores and topics behind the task's tables that no record names."""
        declared = {} if self.task is None else fillings_of(self.task.engine.processor)
        return [
            (table, filling, name)
            for table, fillings in declared.items()
            for filling in fillings
            for name in filling.names
            if not any(self.find(name))
        ]

    @property
    def changes(self) -> list[Change]:
        """The changed records as rows."""
        return [(FILLED + table.encode(), encode_states(self.states[table])) for table in sorted(self.changed)]


def adopt_fillings(tasks: Sequence[StateTask], former: Sequence[Tail]) -> list[tuple[StateTask, list[Change]]]:
    """Return the changes by which tasks take over the records of tables that the topology no longer has.

    Args:
        tasks: Tasks of a group.
        former: Tails of internal changelogs that no longer belong to a sub-topology.

    Raises:
        StoreChanged: A store has the rows of a table, and would get those of another table in addition.
    """
    changes: list[tuple[StateTask, list[Change]]] = []
    for number in sorted({task.settings.number for task in tasks}):
        own = [_Records(task, read_filled(task.table)) for task in tasks if task.settings.number == number]
        others = [_Records(None, read_filled(tail.table)) for tail in former if tail.number == number]
        if any(records.states for records in (*own, *others)):
            _adopt(own, [*own, *others])
        changes += [(one.task, one.changes) for one in own if one.task is not None and one.changed]
    return changes


def _adopt(own: Sequence[_Records], everywhere: Sequence[_Records]) -> None:
    declared = {
        store.name for one in own if one.task is not None for _, store in declared_stores(one.task.engine.processor)
    }
    for records in own:
        for table, filling, name in records.list_new():
            known = [record for others in everywhere for record in others.find(name)]
            lasting = [of for of, _ in known if of in declared]
            if known and not lasting:
                records.states.setdefault(table, {})[name] = merge_states([state for _, state in known])
                records.changed.add(table)
            elif lasting and filling.uses_old and not filling.is_topic:
                raise StoreChanged(
                    f"{records.name}: store {name} has the rows of {lasting[0]}, but would get those of {table} in "
                    "addition, because a statement or operator before it was added, moved or changed. Add new "
                    "statements after the others, or give this store, statement or result another name"
                )
