"""Marks in changelogs that prove, without any clock, that no delete after a snapshot is missing.

Compaction removes deletes after `delete.retention.ms`. Without these deletes, a replay would leave the deleted rows of
the snapshot in place. Therefore, before a snapshot is written, its group commits a mark to each of the snapshot's
changelogs: a delete of a key that no row has. Compaction keeps a delete at least as long as any older delete of the
same partition. As long as the mark is in the changelog, every later delete is, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.processor.messages import Headers

MARK = b"\x01snapshot\0" + bytes.fromhex("1d0b7c2f5a6e4b0c9d3c8a51f4e2b796")
"""Key of a mark. Its random bytes distinguish it from the keys of users."""
NUMBER = "forebay.snapshot"
"""Header with a mark's number. A snapshot's offsets contain the number under the same name, next to the topics."""


@dataclass(frozen=True, slots=True)
class SnapshotMark:
    """A mark of one changelog partition.

    Args:
        number: number of the snapshot. No other snapshot has it.
        timestamp: timestamp of its record, in ms.
    """

    topic: str
    partition: int
    number: int
    timestamp: int

    @property
    def headers(self) -> Headers:
        """Headers of its record."""
        return [(NUMBER, b"%d" % self.number)]


def number_of(headers: Any) -> int:
    """Return the number of a mark from the headers of its record; -1 if they have none."""
    # A mark without its header proves nothing. It counts as missing, so the changelogs are read from the beginning.
    text = dict(headers or ()).get(NUMBER)
    return int(text) if text else -1
