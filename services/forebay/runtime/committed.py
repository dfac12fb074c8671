"""Where a task's last transaction left it, as its internal changelog says: what a restore goes on from."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from forebay.runtime.batch import Range
from forebay.runtime.errors import StateConflict
from forebay.runtime.marker import Marker

POSITION = b"\x01position"
"""Key of the one record of the internal changelog that is no row."""

Ends = tuple[tuple[str, int, int], ...]
"""(topic, partition, offset after the last record used)."""


@dataclass(frozen=True, slots=True)
class CommittedPosition:
    """A marker with the input offsets it stands for. Sent with every transaction, under POSITION.

    Unlike the marker's group offsets it never expires, and a reader of the changelogs sees it among the rows.
    """

    marker: Marker
    ends: Ends

    def to_json(self) -> bytes:
        """Give the record's value."""
        return json.dumps({"marker": self.marker.to_metadata(), "ends": self.ends}, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> CommittedPosition:
        """Read the record's value. Raises StateConflict where somebody else wrote it."""
        try:
            fields = json.loads(data)
            ends = tuple((str(topic), int(partition), int(end)) for topic, partition, end in fields["ends"])
            return cls(Marker.from_metadata(fields["marker"]), ends)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StateConflict(
                f"the position {data[:200]!r} in an internal changelog was not written by Forebay"
            ) from error


def position_of(marker: Marker, ranges: Iterable[Range]) -> CommittedPosition:
    """Give the position of a batch's end."""
    return CommittedPosition(marker, tuple((item.topic, item.partition, item.end) for item in ranges))
