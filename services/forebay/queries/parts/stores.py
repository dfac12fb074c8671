"""All stores of a job for one request, regardless of the parts that hold them."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from forebay.codec import Codec, Unavailable
from forebay.queries.entries import Entry
from forebay.queries.parts.servers import PartServers
from forebay.queries.parts.wire import Ask, Row, Rows, Wait, check_begun, rows_of
from forebay.queries.reads import Bounds, Reads, check_bounds, reads_of
from forebay.queries.stores import Found, JobStores, NotCurrent, Reached, not_reached
from forebay.stores.binding import Store

_ROWS = msgspec.msgpack.Decoder(Rows)
_REACHED = msgspec.msgpack.Decoder(list[Reached])


class PartsMissing(Unavailable):
    """Some parts don't answer, and the request does not accept a partial response."""

    def __init__(self, missing: Mapping[int, str]) -> None:
        named = "; ".join(f"part {part}: {why}" for part, why in sorted(missing.items()))
        super().__init__(f"{named}. Retry, or take what the other parts have with partial=true")
        self.missing = tuple(sorted(missing))


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request: its Authorization header, and whether it accepts partial responses."""

    authorization: str
    takes_partial: bool


class PartedStores:
    """Reads the stores of all parts for one request, with the methods of `JobStores`, and collects missing parts.

    Args:
        local: the stores of this part.
        codecs: codecs of the stores' records, by store.
    """

    def __init__(
        self, local: JobStores, servers: PartServers, codecs: Mapping[str, Codec[Any]], caller: Caller
    ) -> None:
        self._local = local
        self._servers = servers
        self._codecs = codecs
        self._caller = caller
        self._ages: list[tuple[int | None, int]] = []
        self._missing: dict[int, str] = {}

    @property
    def declared(self) -> Mapping[str, Store[Any]]:
        """The stores by name."""
        return self._local.declared

    @property
    def missing(self) -> tuple[int, ...]:
        """Parts that did not answer."""
        return tuple(sorted(self._missing))

    def sub_topology(self, store: str) -> int:
        """Return the number of a store's sub-topology."""
        return self._local.sub_topology(store)

    def get(self, store: str, key: str, bounds: Bounds, limit: int) -> Found:
        """Return the entries of a key, `limit` at most. Raises UnknownStore, WrongQuery, NotCurrent, PartsMissing."""
        declared = self._local.known(store)
        check_bounds(declared, bounds, reads_of(declared).by_key, "a key")
        ask, first = Ask(store, key, bounds, limit + 1), self._owner(store, key)
        rows_of_part = self._of_global(ask) if declared.is_global else {} if first is None else self._ask([first], ask)
        if not declared.is_global and not any(rows.rows for rows in rows_of_part.values()):
            # If the producer used another partitioner than Kafka's, any part may have the key.
            rows_of_part |= self._ask((part for part in range(self._parts) if part != first), ask)
        rows = heapq.merge(*(part_rows.rows for part_rows in rows_of_part.values()), key=lambda row: row.task)
        return self._collect(store, rows_of_part, rows, limit)

    def scan(self, store: str, bounds: Bounds, limit: int) -> Found:
        """Return the entries of all keys in order, `limit` at most. Raises as `get`."""
        declared = self._local.known(store)
        reads = reads_of(declared)
        check_bounds(declared, bounds, reads.in_all, "all keys")
        ask = Ask(store, None, bounds, limit + 1)
        rows_of_part = self._of_global(ask) if declared.is_global else self._ask(range(self._parts), ask)
        return self._collect(store, rows_of_part, _merge(rows_of_part.values(), reads, bounds), limit)

    def ages(self, store: str) -> dict[str, int | None]:
        """Return the ages of `JobStores.ages`: the largest of the parts that answered."""
        commits = [commit for commit, _ in self._ages if commit is not None]
        checked = max((checked for _, checked in self._ages), default=None)
        return {"commit_age_ms": max(commits, default=None), "checked_age_ms": checked}

    def wait_for(self, store: str, wanted: Sequence[Reached], seconds: float) -> None:
        """Wait like `JobStores.wait_for`, at each part for offsets that its tasks read. Raises PartsMissing, too."""
        if not wanted:
            return
        self._local.known(store)
        self._local.check_waits(store)
        check_begun(self._local)
        tasks = self._local.tasks
        of_part: dict[int, list[Reached]] = {}
        for position in wanted:
            of_part.setdefault(position.partition % tasks % self._parts, []).append(position)
        mine = of_part.pop(self._me, [])
        # Begin all parts' waits before the local one, so that they wait at the same time and not one after another.
        begun = [
            self._servers.begin(
                [part], "/part/wait", msgspec.msgpack.encode(Wait(theirs, seconds)), self._caller.authorization, seconds
            )
            for part, theirs in of_part.items()
        ]
        missed = set(self._local.await_offsets(mine, seconds))
        for asked in begun:
            answers, missing = asked.answers(_REACHED.decode)
            self._miss(missing)
            missed.update(*answers.values())
        not_reached([position for position in wanted if position in missed])

    @property
    def _me(self) -> int:
        return self._servers.identity.part

    @property
    def _parts(self) -> int:
        return self._servers.identity.parts

    def _owner(self, store: str, key: str) -> int | None:
        return self._servers.owner(store, key, self._local.tasks) if self._local.tasks else None

    def _of_global(self, ask: Ask) -> dict[int, Rows]:
        """Return the rows of one part, preferably this one, because each part has all rows of a global table."""
        missing: dict[int, str] = {}
        for part in (self._me, *self._servers.peers):
            rows_of_part, silent = self._answers([part], ask)
            if rows_of_part:
                return rows_of_part
            missing |= silent
        self._miss(missing)
        return {}

    def _ask(self, parts: Iterable[int], ask: Ask) -> dict[int, Rows]:
        """Return the rows of parts. Raises PartsMissing if some are missing and partial responses are not accepted."""
        rows_of_part, missing = self._answers(list(parts), ask)
        self._miss(missing)
        return rows_of_part

    def _answers(self, parts: Sequence[int], ask: Ask) -> tuple[dict[int, Rows], dict[int, str]]:
        """Return the rows of parts that answered, and the reasons of those that did not."""
        others = [part for part in parts if part != self._me]
        begun = self._servers.begin(others, "/part/read", msgspec.msgpack.encode(ask), self._caller.authorization)
        rows_of_part: dict[int, Rows] = {}
        own: dict[int, str] = {}
        if self._me in parts:
            try:
                rows_of_part[self._me] = rows_of(self._local, ask)
            except NotCurrent as error:
                own[self._me] = str(error)
        answers, missing = begun.answers(_ROWS.decode)
        for part, rows in answers.items():
            # During a rescale, two parts with different numbers of tasks assign keys differently. Their rows don't
            # complement each other.
            if self._local.tasks not in (0, rows.tasks):
                missing[part] = f"it has {rows.tasks} tasks, this server {self._local.tasks}: a rescale is in progress"
            else:
                rows_of_part[part] = rows
        return rows_of_part, own | missing

    def _miss(self, missing: Mapping[int, str]) -> None:
        self._missing |= missing
        if self._missing and (not self._caller.takes_partial or len(self._missing) == self._parts):
            raise PartsMissing(self._missing)

    def _collect(self, store: str, found: Mapping[int, Rows], rows: Iterable[Row], limit: int) -> Found:
        self._ages += [(part_rows.commit_age_ms, part_rows.checked_age_ms) for part_rows in found.values()]
        batches = {task: batch for part_rows in found.values() for task, batch in part_rows.batches.items()}
        codec, entries = self._codecs[store], list[Entry]()
        for row in rows:
            if len(entries) == limit:
                return Found(entries, dict(sorted(batches.items())), more=True)
            entries.append(row.entry(None if row.value is None else codec.decode(row.value)))
        return Found(entries, dict(sorted(batches.items())))


def _merge(found: Iterable[Rows], reads: Reads, bounds: Bounds) -> Iterable[Row]:
    """Return the merged rows of all parts in the order of a server that holds all tasks: equal keys by task."""
    sign = -1 if bounds.descending else 1
    return heapq.merge(
        *(part_rows.rows for part_rows in found),
        key=lambda row: (reads.order(row.entry(None)), sign * row.task),
        reverse=bounds.descending,
    )
