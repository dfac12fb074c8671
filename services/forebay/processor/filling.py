"""Filling: a store that is added behind a table with rows gets these rows first, in the order of their keys.

An aggregate of a table subtracts the former row when a row changes. If the aggregate was added after the row, it must
first get the row. The rows are sent some thousand per commit. Until then, the store gets the changes of the rows that
were sent, and deletions. A row that was not sent yet is sent as it is then. The topic of an added query gets the rows
of its table in the same way.

The task of the table records which stores and topics have its rows, in a row for each table. A table without such a row
was written by a release that did not record it. All stores of the topology are then assumed to have its rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from forebay.processor.api import Context, Timer
from forebay.processor.engine_settings import Bounds
from forebay.stores.binding import TaskStores
from forebay.stores.filled import State, States, encode_states, read_filled
from forebay.stores.internal import FILLED, FILLED_TOPIC
from forebay.stores.layouts import DeclarationChanged
from forebay.stores.table import Change, Table

log = logging.getLogger(__name__)

MOST_ROWS = 5_000
"""Rows of a table that are sent in one commit."""

_ANOTHER_NAME = (
    "Give the store, the statement or its result another name: it then begins with the rows of the table; or start "
    "over with"
)


@dataclass(slots=True, eq=False)
class Filling:
    """The stores behind one edge from a table, which all get the same rows, or the topic to which its rows are written.

    Args:
        stores: Names of the stores, or of the topic.
        tables: Names of the stores from which the table's rows are computed. The first one has their keys.
        keys_after: Function that returns the table's keys after a key, or from the first key on, in order. None: the
            table's rows are not stored in the order of their keys.
        send: Function that sends the row of a key to the stores.
        uses_old: Whether the stores would be wrong without the rows, because they use the former row if a row changes.
            Other stores would only lack the rows.
        is_topic: Whether a topic gets the rows. `stores` then names the query. If the topic missed changes, it can get
            all rows again.
        is_complete: Whether the stores have all rows.
        is_added: Whether the stores were added when the table had rows. They lack the rows that failed then.
        sent: Key of the last row that was sent. None: no row was sent.
    """

    stores: Sequence[str]
    tables: Sequence[str]
    keys_after: Callable[[str | None], Iterator[str]] | None
    send: Callable[[str, Context[Any]], None]
    uses_old: bool
    is_topic: bool = False
    is_complete: bool = True
    sent: str | None = None
    is_added: bool = False

    def has_sent(self, key: str) -> bool:
        """Return whether the stores have the row of a key, so that they need its changes."""
        return self.is_complete or (self.sent is not None and key <= self.sent)

    @property
    def label(self) -> str:
        """The names of the stores or the topic, for messages."""
        return self.names[0] if self.is_topic else f"store {', '.join(self.names)}"

    @property
    def names(self) -> Sequence[str]:
        """The names under which the stores or the topic are recorded."""
        return [FILLED_TOPIC + name for name in self.stores] if self.is_topic else self.stores

    @property
    def state(self) -> State:
        """What to record of the stores."""
        state: State = {"with": list(self.tables[1:])} if self.tables[1:] else {}
        if self.is_added:
            state["added"] = True
        return state if self.is_complete else state | {"sent": self.sent}


def fillings_of(processor: object) -> Mapping[str, Sequence[Filling]]:
    """Return the fillings from each table of a processor, by the name of the store with the table's keys.

    Call it after `init`.
    """
    declared: Mapping[str, Sequence[Filling]] = getattr(processor, "fillings", dict)()
    return declared


class Fillings:
    """The fillings of a task.

    Args:
        service: Name of the service, for messages.
        declared: Fillings from each table, by the name of its store.
        lent: Rows of the task.
    """

    def __init__(self, service: str, declared: Mapping[str, Sequence[Filling]], lent: TaskStores) -> None:
        self._service, self._declared, self._lent = service, declared, lent
        self._recorded: dict[str, States | None] = {}
        self._unwritten: dict[str, bool] = {}
        """Tables whose record differs from what is recorded, and whether it is written although nothing changes."""
        self._written: dict[str, States] = {}
        self._pending: list[Filling] = []

    @property
    def is_pending(self) -> bool:
        """Whether a store has not got all rows of a table."""
        return bool(self._pending)

    def load(self, table: Table) -> None:
        """Compare what is recorded with the stores of the topology.

        Raises:
            DeclarationChanged: A store missed changes of its table.
        """
        self._unwritten.clear()
        self._written.clear()
        self._pending.clear()
        self._recorded.clear()
        read = read_filled(table)
        left = self._remove_topics(read)
        for name in read.keys() - self._declared.keys():
            self._recorded[name] = read[name]
            if name in left or any("with" in state for state in read[name].values()):
                self._unwritten[name] = name in left
        for name, fillings in self._declared.items():
            recorded = self._recorded[name] = read.get(name)
            for filling in fillings:
                self._begin(filling, self._recorded_of(filling, read), table)
            states = _states(fillings)
            if recorded is None:
                tables = {name}.union(*(filling.tables for filling in fillings))
                self._unwritten[name] = any(_has_rows(table, of) for of in tables)
            elif recorded != states | {store: recorded[store] for store in missed_stores(recorded)}:
                self._unwritten[name] = not states.keys() <= recorded.keys()
            if name in left:
                self._unwritten[name] = True

    def _remove_topics(self, read: dict[str, States]) -> set[str]:
        """Remove topics of queries that no longer read a table from its record. Return the tables.

        If the query reads the table again, its topic gets all rows again. A table that is not in the topology has no
        changes, and its queries may only be paused.
        """
        tables_of = {
            name: filling.tables
            for fillings in self._declared.values()
            for filling in fillings
            if filling.is_topic
            for name in filling.names
        }
        left = set()
        for table, states in read.items():
            for name in [name for name in states if name.startswith(FILLED_TOPIC)]:
                if table not in tables_of[name] if name in tables_of else table in self._declared:
                    del states[name]
                    left.add(table)
        return left

    def _recorded_of(self, filling: Filling, read: Mapping[str, States]) -> States | None:
        """Return what is recorded of a filling's table, including what was recorded for another table.

        Raises:
            DeclarationChanged: The stores have the rows of another table.
        """
        first, *others = filling.tables
        recorded = read.get(first)
        if recorded is None and any(other in read for other in others):
            # A table of an outer join that never had a row has no record yet.
            recorded = {}
        for former, states in read.items():
            for store in states.keys() & set(filling.names) if former != first else ():
                # The sides of a join were swapped, or a store between the table and this store was removed.
                if former in others or former not in self._lent.of_store:
                    recorded = {store: states[store], **(recorded or {})}
                    continue
                raise DeclarationChanged(
                    f"store {store} has the rows of the table {former}, but is declared with those of {first}. "
                    f"{_ANOTHER_NAME} `forebay reset {self._service}`"
                )
        return recorded

    def _begin(self, filling: Filling, recorded: Mapping[str, State] | None, rows: Table) -> None:
        filling.is_complete, filling.sent, filling.is_added = True, None, False
        table = filling.tables[0]
        states = {name: (recorded or {}).get(name) for name in filling.names}
        missed = [store for store, state in states.items() if state is not None and "missed" in state]
        if missed:
            raise DeclarationChanged(
                f"store {missed[0]}: the table {table} has changed while the topology did not have this store, so the "
                f"store lacks these changes. {_ANOTHER_NAME} `forebay reset {self._service}`"
            )
        if recorded is None or not any(_has_rows(rows, of) for of in filling.tables):
            return
        known = [state for state in states.values() if state is not None]
        filling.is_added = not known or any("added" in state for state in known)
        if known and len(known) < len(states):
            added = ", ".join(store for store, state in states.items() if state is None)
            raise DeclarationChanged(
                f"store {added}: it was added to groups that already have an aggregate, and the table {table} has rows "
                "that it needs. Call group_by() for each aggregate, so that each one gets the rows by itself"
            )
        if filling.keys_after is None and (known or not filling.uses_old):
            return
        if filling.keys_after is None:
            raise DeclarationChanged(
                f"store {', '.join(states)}: it was added to the table {table}, whose rows it would lack, because "
                "these are not stored by key. Run the topology or statements as another job, which reads the topics "
                f"from the beginning; or start over with `forebay reset {self._service}`"
            )
        if not known or "sent" in known[0]:
            filling.is_complete, filling.sent = False, known[0]["sent"] if known else None
            what = "gets the remaining rows" if known else "is new: it first gets the rows"
            log.info("%s: %s %s of the table %s", self._service, filling.label, what, table)
            self._pending.append(filling)

    def run(self, call: Callable[[Timer, Callable[[Context[Any]], None]], None], bounds: Bounds, time: int) -> int:
        """Send the next rows. Return their number.

        Args:
            call: Function that runs a step as if a timer fired. If the step fails, its effects are undone.
            time: Stream time of the task, in ms.
        """
        most = left = min(bounds.most_rows, MOST_ROWS)
        for filling in [*self._pending]:
            # Read the keys before anything is sent: what is sent may change a store from which they are read.
            assert filling.keys_after is not None
            keys = [*islice(filling.keys_after(filling.sent), left)]
            for key in keys:
                filling.sent = key
                call(Timer(time, f"rows for {filling.label}", key), _sending(filling, key))
                left -= 1
                if bounds.monotonic() > bounds.until:
                    break
            else:
                if left > 0:
                    filling.is_complete = True
                    self._pending.remove(filling)
                    log.info("%s: %s has the rows of its table", self._service, filling.label)
            self._unwritten[filling.tables[0]] = True
            if left <= 0 or bounds.monotonic() > bounds.until:
                break
        return most - left

    def changes(self) -> Iterator[Change]:
        """Yield the rows that this commit writes."""
        for name, is_forced in self._unwritten.items():
            fillings = self._declared.get(name, ())
            states = _states(fillings)
            removed = {store: state for store, state in (self._recorded[name] or {}).items() if store not in states}
            missed = {store for store, state in removed.items() if self._misses_changes(name, state)}
            tables = {name}.union(*(filling.tables for filling in fillings))
            if is_forced or missed or self._has_changes(*tables):
                states |= {store: state for store, state in removed.items() if store not in missed}
                # Only stores are refused later. A topic that is not recorded gets all rows again.
                states |= {store: {"missed": True} for store in missed if not store.startswith(FILLED_TOPIC)}
                self._written[name] = states
                yield FILLED + name.encode(), encode_states(states)

    def settle(self) -> None:
        """Begin the next commit. The changes are in the table now."""
        if self._written:
            for name, states in self._written.items():
                del self._unwritten[name]
                present = _states(self._declared.get(name, ()))
                if any(store not in present for store in states.keys() - missed_stores(states)):
                    self._unwritten[name] = False
            self._recorded |= self._written
            self._written.clear()

    def _misses_changes(self, name: str, state: State) -> bool:
        """Return whether a store that is not in the topology misses changes of this commit."""
        others = state.get("with", ())
        if name not in self._declared:
            return self._has_changes(*others)
        # Changes of a table that is in another sub-topology now are not known here.
        return self._has_changes(name, *others) or any(table not in self._lent.of_store for table in others)

    def _has_changes(self, *stores: str) -> bool:
        return any(rows.has_changes for store in stores for rows in self._lent.of_store.get(store, ()))


def _states(fillings: Sequence[Filling]) -> dict[str, State]:
    return {name: filling.state for filling in fillings for name in filling.names}


def missed_stores(states: Mapping[str, State]) -> set[str]:
    """Return the stores that missed changes of their table."""
    return {store for store, state in states.items() if "missed" in state}


def _sending(filling: Filling, key: str) -> Callable[[Context[Any]], None]:
    return lambda context: filling.send(key, context)


def _has_rows(table: Table, store: str) -> bool:
    return next(table.scan(store.encode() + b"\0", store.encode() + b"\1"), None) is not None
