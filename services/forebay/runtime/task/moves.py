"""Positions, timers and formats of sub-topologies that moved to another place in the topology.

A task's internal changelog is numbered by its sub-topology's place in the topology. Adding, removing or reordering
statements changes places. Therefore the contents of an internal changelog are identified by name: offsets by their
partition, a store's format by the store, timers and event ids by the sub-topology that wrote them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from forebay.runtime.changelog.topics import INTERNAL
from forebay.runtime.protocol.position import Ends, TaskPosition
from forebay.runtime.task.orphaned_rows import join_ids, parked_key, parked_positions, parked_row, times_row
from forebay.runtime.task.places import Move, Partition, Wanted, Written
from forebay.runtime.task.record_formats import topic_of
from forebay.stores.event_ids import PREFIX as EVENT_IDS
from forebay.stores.event_ids import as_of_another
from forebay.stores.internal import FILLED, KINDS, PARKED, PARKED_TIMES, TIMERS, timer_of
from forebay.stores.layouts import PREFIX as LAYOUTS
from forebay.stores.materialized import store_of
from forebay.stores.table import Change


def plan_moves(wanted: Sequence[Wanted], written: Sequence[Written]) -> dict[int, Move]:
    """Return the moves to commit, by place, so that each task finds its internal rows; empty if nothing has moved.

    Offsets of partitions that are no longer read stay where they are. A statement that is added again continues from
    them.

    Args:
        wanted: tasks of the current topology, by place.
        written: internal changelogs by place, followed by those of places that the topology no longer has.
    """
    # Usually nothing has moved. This runs at every start, so it reads formats and timers, and no rows of stores.
    plan = _Plan(wanted, written)
    return plan.moves() if plan.is_needed else {}


class _Plan:
    def __init__(self, wanted: Sequence[Wanted], written: Sequence[Written]) -> None:
        self._wanted, self._written = wanted, written
        self._readers = {partition: at for at, task in enumerate(wanted) for partition in task.partitions}
        self._read_topics = frozenset(topic for topic, _ in self._readers)
        self._whole = frozenset(topic for task in wanted for topic in task.whole)
        self._parked = parked_positions(row for rows in written for row in rows.scan(PARKED))
        self._global = self._find_global()
        self._holders = self._find_holders()
        self._origins = [self._find_origins(task) for task in wanted]
        self._timer_places: dict[tuple[str | int, ...], list[int]] = {}
        """Places by timer name and heirs of the timer's place, because there may be a million timers of one name."""
        self._heirs = [
            [
                place
                for place, origins in enumerate(self._origins)
                if origin in origins or (written[origin].name and written[origin].name in self._last_readers(place))
            ]
            for origin in range(len(written))
        ]

    @property
    def is_needed(self) -> bool:
        """Whether anything is not where its task looks for it."""
        for place, (task, origins) in enumerate(zip(self._wanted, self._origins, strict=True)):
            if any(origin != place for origin in origins) or self._written[place].name not in ("", task.identity):
                return True
        is_removed = any(place < len(self._wanted) for place, _ in self._topics_to_park())
        if is_removed or self._parked.keys() & (self._read_topics | self._whole):
            return True
        return any(
            self._targets(key, place) not in ([], [place])
            for prefix in (KINDS, TIMERS)
            for place, rows in enumerate(self._written)
            for key, _ in rows.scan(prefix)
        )

    def moves(self) -> dict[int, Move]:
        """Return the moves of the places that change."""
        moves = {place: self._position(place) for place in range(len(self._written)) if self._is_used(place)}
        puts: dict[int, list[Change]] = {place: [] for place in moves}
        ids = {place: dict(self._written[place].scan(EVENT_IDS)) for place in moves}
        for origin in sorted(moves):
            for key, value in self._written[origin].scan(INTERNAL):
                rows = self._rows(key, origin)
                if (origin, key) not in rows:
                    moves[origin].changes.append((key, None))
                for place, row in rows:
                    if (place, row) != (origin, key):
                        puts[place].append(join_ids(row, value, origin, ids[place]))
        for place, topic in self._topics_to_park():
            position = self._written[place].position
            if position is not None and place in puts:
                puts[place].append((parked_key(topic, PARKED_TIMES), times_row(position)))
        for place, rows_put in puts.items():
            # After the deletes, because a deleted and a new row may have the same key.
            moves[place].changes += rows_put
        changed = {place: move for place, move in moves.items() if self._changes(place, move)}
        ends = [end[:2] for move in changed.values() for end in move.position.ends if end[0] not in self._global]
        assert len(ends) == len(set(ends)), "an offset would be kept at two places of the topology"
        return changed

    def _find_global(self) -> frozenset[str]:
        """Return the topics of global tables, including those that no task reads."""
        recorded = {topic for rows in self._written if rows.position for topic, _ in rows.position.global_stores}
        # Positions of earlier releases do not record global tables. A topic that several places have read is one,
        # because any other topic is read at one place only.
        held = Counter(topic for rows in self._written for topic in {topic for topic, _ in rows.ends})
        former = recorded | {topic for topic, places in held.items() if places > 1}
        return self._whole | (former - self._read_topics)

    def _last_readers(self, place: int) -> set[str]:
        """Return the names of the sub-topologies that last read the parked topics of a place."""
        topics = {topic for topic, _ in self._wanted[place].partitions}
        return {self._parked[topic].sub_topology for topic in topics & self._parked.keys()}

    def _find_holders(self) -> dict[Partition, int]:
        """Return the place that holds the offset of each partition; if there are two, that of the larger offset."""
        held = [(end, place, at) for place, rows in enumerate(self._written) for at, end in rows.ends.items()]
        # Sorted by offset, so that the largest wins, because no record may be read twice.
        return {at: place for _, place, at in sorted(held) if at[0] not in self._global}

    def _find_origins(self, task: Wanted) -> list[int]:
        """Return the places that hold offsets of a task's partitions, or that its sub-topology wrote."""
        read = [partition for partition in task.partitions if partition[0] not in self._parked]
        held = {self._holders[partition] for partition in read if partition in self._holders}
        named = {place for place, rows in enumerate(self._written) if rows.name and rows.name == task.identity}
        return sorted(held | named)

    def _topics_to_park(self) -> list[tuple[int, str]]:
        """Return the topics that no task reads any more and whose times are not parked yet, with their places."""
        known = self._read_topics | self._parked.keys() | self._global
        return sorted({(place, at[0]) for at, place in self._holders.items() if at[0] not in known})

    def _reader(self, partition: Partition) -> TaskPosition | None:
        """Return the position under which a partition was last read; None: it never was."""
        place = self._holders.get(partition)
        return self._parked.get(partition[0]) or (None if place is None else self._written[place].position)

    def _is_used(self, place: int) -> bool:
        """Return whether a place belongs to the topology, or a place of the topology takes over its rows."""
        is_left = any(holder == place for at, holder in self._holders.items() if at in self._readers)
        formats = self._written[place].scan(KINDS)
        is_store_elsewhere = any(self._targets(key, place) != [place] for key, _ in formats)
        return place < len(self._wanted) or bool(self._heirs[place]) or is_left or is_store_elsewhere

    def _position(self, place: int) -> Move:
        """Return a place's move with its new position. Each offset is kept at the place that reads it."""
        # All places get a commit number above the largest. If a place's number went back, its topics would look older
        # than its snapshot, and the start would stop (`complete_tail`).
        newest = max((rows.position for rows in self._written if rows.position is not None), key=lambda one: one.n)
        ends = {at: end for at, end in self._ends().items() if self._readers.get(at, self._holders[at]) == place}
        if place >= len(self._wanted):
            before = self._written[place].position or newest
            # A sub-topology that gets this place later must not begin with the times of the former one.
            nothing = TaskPosition(before.checkpoint, newest.n + 1, code_version=before.code_version)
            return Move(replace(nothing, ends=_sort(ends), recent=before.recent, groups=before.groups))
        task, origins = self._wanted[place], self._origins[place]
        known = [position for origin in origins if (position := self._written[origin].position) is not None]
        named = [origin for origin in origins if self._written[origin].name == task.identity or origins == [place]]
        for rows in [self._written[origin] for origin in named]:
            lost = {topic for topic, store in task.global_stores if not self._has_rows(rows, topic, store)}
            ends |= {at: end for at, end in rows.ends.items() if at[0] in self._global - lost}
        own = next((rows.position for rows in self._written if rows.name == task.identity), None)
        read = {at: last for at in sorted(task.partitions) if (last := self._reader(at)) is not None}
        continued = [*read.values(), *(() if own is None else (own,))]
        parked = self._parked.get(task.identity)
        reporting = parked if own is None and parked is not None and parked.sub_topology == task.identity else own
        position = replace(
            known[0] if known else newest,
            n=newest.n + 1,
            # The latest time of the sub-topologies that it continues, because time must not go back for a store or a
            # topic that it takes over.
            stream_time=max((last.stream_time for last in continued), default=-1),
            closing_time=max((last.closing_time for last in continued), default=-1),
            ends=_sort(ends),
            senders=tuple(
                dict.fromkeys(time for at, last in read.items() for time in last.senders if time.topic == at[0])
            ),
            sub_topology=task.identity,
            reports=() if reporting is None else reporting.reports,
            global_stores=() if own is None else own.global_stores,
            formats=tuple(
                dict.fromkeys(kind for at, last in read.items() for kind in last.formats if kind[0] == at[0])
            ),
        )
        return Move(position, tuple(origins))

    def _has_rows(self, rows: Written, topic: str, store: str) -> bool:
        """Return whether the store of a global table has the rows up to the offsets of a place.

        It does not if its sub-topology has read the table into a store of another name, or if another sub-topology has
        filled the store since. Then the record of the store's format has moved to the place of that sub-topology.
        """
        recorded = () if rows.position is None else rows.position.global_stores
        if recorded and (topic, store) not in recorded:
            return False
        return rows.has_record(store) or (bool(recorded) and not any(one.has_record(store) for one in self._written))

    def _ends(self) -> dict[Partition, int]:
        return {at: self._written[place].ends[at] for at, place in self._holders.items()}

    def _changes(self, place: int, move: Move) -> bool:
        """Return whether a move changes more than the commit number.

        Another name of the sub-topology is a change, so that a rescale after one start finds the current names.
        """
        before = self._written[place].position
        if move.changes or before is None:
            return True
        if place < len(self._wanted) and before.sub_topology not in ("", self._wanted[place].identity):
            return True
        same = replace(move.position, n=before.n, sub_topology=before.sub_topology)
        return _sort(dict(self._written[place].ends)) != same.ends or replace(same, ends=before.ends) != before

    def _rows(self, key: bytes, origin: int) -> list[tuple[int, bytes]]:
        """Return the places that need an internal row, each with the row's key there."""
        if key.startswith(PARKED):
            name, row = parked_row(key)
            if row == PARKED_TIMES:
                return [] if name in self._read_topics | self._whole else [(origin, key)]
            back = [place for place, task in enumerate(self._wanted) if task.identity == name]
            heirs = [place for place in range(len(self._wanted)) if name in self._last_readers(place)]
            if _is_of_timers(row):
                places = self._of_timer(row, heirs) or back
                return [(places[0], row)] if places else [(origin, key)]
            if back:
                return [(place, row) for place in dict.fromkeys((*back, *heirs))]
            return [(origin, key), *((place, as_of_another(row, origin)) for place in heirs)]
        targets = self._targets(key, origin)
        if not targets and self._written[origin].name:
            return [(origin, parked_key(self._written[origin].name, key))]
        # Event ids of two places have the same keys if they have the same time and commit number.
        moved = as_of_another(key, origin) if key.startswith(EVENT_IDS) else key
        return [(place, key if place == origin else moved) for place in targets]

    def _targets(self, key: bytes, origin: int) -> list[int]:
        """Return the places that need an internal row; empty if its sub-topology is gone."""
        heirs = self._heirs[origin]
        if _is_of_timers(key):
            return self._of_timer(key, heirs) or heirs[:1]
        topic = topic_of(key)
        if topic:
            readers = [at for at, task in enumerate(self._wanted) if any(topic == read for read, _ in task.partitions)]
            return readers or [origin]
        if key.startswith((KINDS, LAYOUTS, FILLED)):
            return self._of_store(key.partition(b"\0")[2].decode(), origin)
        return heirs if key.startswith(EVENT_IDS) else self._of_store(store_of(key).decode(), origin)

    def _of_store(self, store: str, origin: int) -> list[int]:
        """Return the places of a store. Rows of a removed store stay, as its changelog does."""
        return [place for place, task in enumerate(self._wanted) if store in task.stores] or [origin]

    def _of_timer(self, row: bytes, heirs: list[int]) -> list[int]:
        """Return the place of a timer: the place whose operators set it, otherwise the heir with a store that it names.

        A timer belongs to one store. A topic's next reader may have this store without the other stores of the former
        reader. The recorded format of a processor's timers moves with the timers.
        """
        # Only one place may have a timer, or it would fire twice.
        timer = timer_of(row)[0] if row.startswith(TIMERS) else f"{row[len(LAYOUTS) :].decode()}: "
        places = self._timer_places.get((timer, *heirs))
        if places is None:
            places = self._timer_places[timer, *heirs] = self._find_place_of(timer, heirs)
        return places

    def _find_place_of(self, timer: str, heirs: list[int]) -> list[int]:
        sets = [place for place, task in enumerate(self._wanted) if task.has_timer and task.has_timer(timer)]
        if sets:
            return [place for place in heirs if place in sets][:1] or sets[:1]
        named = [place for place in heirs if self._named_in(timer, place)]
        return [max(named, key=lambda place: self._named_in(timer, place))] if named else []

    def _named_in(self, timer: str, place: int) -> int:
        """Return the length of the longest store name in a timer's name: operators name timers after their stores."""
        return max((len(store) for store in self._wanted[place].stores if store in timer), default=0)


def _is_of_timers(key: bytes) -> bool:
    """Return whether a row is a timer or the format of a processor's timers, which has a space in its name."""
    return key.startswith(TIMERS) or (key.startswith(LAYOUTS) and b" " in key)


def _sort(ends: dict[Partition, int]) -> Ends:
    return tuple((*partition, end) for partition, end in sorted(ends.items()))
