"""Turns changelog records back into the rows of a task's table."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.runtime.changelog import NO_FORMATS, STAMPED
from forebay.stores.binding import RowValue
from forebay.stores.keys import pack_time
from forebay.stores.table import Change


class ChangelogRows:
    """Turns changelog records into the table rows they were made of: `ChangelogRouter.route` backwards.

    Args:
        topics: changelog topic by store name.
        internal: topic of the task's own rows.
        formats: what the rows of a store consist of; plain values unless given.
    """

    def __init__(self, topics: Mapping[str, str], internal: str, formats: Mapping[str, RowValue] = NO_FORMATS) -> None:
        self.internal = internal
        self._topics = topics
        self._formats = formats
        self._prefixes = {internal: (b"", False)}
        for store, topic in topics.items():
            self._prefixes[topic] = store.encode() + b"\0", formats.get(store) in STAMPED
        self.topics = tuple(self._prefixes)

    def of_kinds(self, recorded: Mapping[str, RowValue]) -> ChangelogRows:
        """Return the same for rows that were written as these kinds, by store; as declared where none is given."""
        return ChangelogRows(self._topics, self.internal, {**self._formats, **recorded})

    def form(self, topic: str) -> tuple[bytes, bool]:
        """Return what the keys of a topic's rows begin with, and whether their values begin with the record's time."""
        return self._prefixes[topic]

    def row(self, topic: str, key: bytes, value: bytes | None, timestamp: int) -> Change:
        """Return the table row of a record; `timestamp` in ms."""
        prefix, stamped = self._prefixes[topic]
        if stamped and value is not None:
            return prefix + key, pack_time(timestamp) + value
        return prefix + key, value
