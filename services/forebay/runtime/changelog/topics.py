"""Changelog topics: their names, and the routing of a task's rows to them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from forebay.stores.binding import RowValue
from forebay.stores.keys import WIDTH, pack_time, unpack_time
from forebay.stores.materialized import store_of
from forebay.stores.table import Change

INTERNAL = b"\x01"
NO_FORMATS: Mapping[str, RowValue] = MappingProxyType({})
STAMPED = (RowValue.STAMPED, RowValue.STAMPED_HELD)


class ChangelogRouter:
    """Sends each changed row to its store's changelog, at the task's own partition.

    A store's row goes to `<application>-<store>-changelog` under its key. Timers and event ids go to
    `<application>-<sub-topology>-task` under their row keys. The values are those of the block log. If a store's rows
    begin with a timestamp, it becomes the record's timestamp, so that every value is framed Avro. A null version (a
    tombstone that is part of the history) is written as an empty value, which compaction keeps.

    Args:
        topics: changelog topic by store name. A store that is missing has no changelog.
        formats: format of each store's rows; plain values by default.
        internal: topic of the task's own rows.
        partition: the task's number.
        unlogged: stores without a changelog, whose internal rows are not logged either.
    """

    def __init__(
        self,
        topics: dict[str, str],
        internal: str,
        partition: int,
        formats: Mapping[str, RowValue] = NO_FORMATS,
        unlogged: frozenset[bytes] = frozenset(),
    ) -> None:
        self._unlogged = unlogged
        self._formats = formats
        self._stamped = {name.encode() for name, kind in formats.items() if kind in STAMPED}
        self._topics = {name.encode(): topic for name, topic in topics.items()}
        self.internal = internal
        self.partition = partition

    def of_formats(self, recorded: Mapping[str, RowValue]) -> ChangelogRouter:
        """Return a router for rows in other formats, by store. A store that is missing keeps its format."""
        topics = {store.decode(): topic for store, topic in self._topics.items()}
        return ChangelogRouter(topics, self.internal, self.partition, {**self._formats, **recorded}, self._unlogged)

    def destinations(self) -> set[str]:
        """Return the names of the changelogs."""
        return {self.internal, *self._topics.values()}

    def route(self, changes: Sequence[Change], timestamp: int) -> Iterator[tuple[str, bytes, bytes | None, int]]:
        """Yield (topic, key, value, timestamp in ms) of every change that is logged, in order.

        Args:
            timestamp: timestamp (ms) of rows without one.
        """
        topics, internal, stamped = self._topics, self.internal, self._stamped
        prefix, topic, is_stamped = INTERNAL, "", False
        for key, value in changes:
            if key.startswith(INTERNAL):
                if not self._unlogged or store_of(key) not in self._unlogged:
                    yield internal, key, value, timestamp
                continue
            # The rows of a store are adjacent, so their topic is looked up once.
            if not key.startswith(prefix):
                store = key.partition(b"\0")[0]
                prefix, topic, is_stamped = store + b"\0", topics.get(store, ""), store in stamped
            # A store without logging: its rows are in the table and in snapshots only.
            if not topic:
                continue
            row = key[len(prefix) :]
            if is_stamped and value is not None:
                yield topic, row, value[WIDTH:], max(unpack_time(value), 0)
            else:
                yield topic, row, value, timestamp


class ChangelogRows:
    """Converts changelog records to table rows: the inverse of `ChangelogRouter.route`.

    Args:
        topics: changelog topic by store name.
        internal: topic of the task's own rows.
        formats: format of each store's rows; plain values by default.
    """

    def __init__(self, topics: Mapping[str, str], internal: str, formats: Mapping[str, RowValue] = NO_FORMATS) -> None:
        self.internal = internal
        self._topics = topics
        self._formats = formats
        self._prefixes = {internal: (b"", False)}
        for store, topic in topics.items():
            self._prefixes[topic] = store.encode() + b"\0", formats.get(store) in STAMPED
        self.topics = tuple(self._prefixes)
        """The changelogs, the internal one first."""
        self.stores = tuple(topics)

    def of_formats(self, recorded: Mapping[str, RowValue]) -> ChangelogRows:
        """Return a converter for rows in other formats, by store. A store that is missing keeps its format."""
        return ChangelogRows(self._topics, self.internal, {**self._formats, **recorded})

    def reads_like(self, other: ChangelogRows) -> bool:
        """Return whether both convert all records to the same rows."""
        return self._prefixes == other._prefixes

    def form(self, topic: str) -> tuple[bytes, bool]:
        """Return the prefix of a topic's row keys, and whether the rows' values begin with the record's timestamp."""
        return self._prefixes[topic]

    def row(self, topic: str, key: bytes, value: bytes | None, timestamp: int) -> Change:
        """Return the table row of a record; `timestamp` in ms."""
        prefix, stamped = self._prefixes[topic]
        if stamped and value is not None:
            return prefix + key, pack_time(timestamp) + value
        return prefix + key, value


def changelog_topic(application: str, store: str) -> str:
    """Return the name of a store's changelog topic."""
    return f"{application}-{store}-changelog"


def internal_topic(application: str, sub_topology: int) -> str:
    """Return the name of a sub-topology's internal changelog topic."""
    return f"{application}-{sub_topology}-task"


def former_topics(application: str, sub_topologies: int, existing: Iterable[str]) -> tuple[str, ...]:
    """Return the internal changelogs of sub-topologies that an application no longer has.

    Args:
        sub_topologies: number of sub-topologies now.
        existing: names of all existing topics.
    """
    # The whole name must match, because another application's id may begin with this application's id.
    numbered = re.compile(rf"{re.escape(application)}-(\d+)-task")
    numbers = sorted(int(match[1]) for name in existing if (match := numbered.fullmatch(name)))
    return tuple(internal_topic(application, number) for number in numbers if number >= sub_topologies)


def is_internal(application: str, topic: str) -> bool:
    """Return whether a topic has the name of a changelog or a repartition topic of an application."""
    return re.fullmatch(rf"{re.escape(application)}-(\d+-task|.+-changelog|.+-repartition)", topic) is not None


def repartition_topic(application: str, name: str) -> str:
    """Return the name of a repartition's topic."""
    return f"{application}-{name}-repartition"


def changelog_topics(application: str, stores: Iterable[str]) -> dict[str, str]:
    """Return the changelog topic of each store."""
    return {store: changelog_topic(application, store) for store in stores}
