"""Marks in changelogs that prove, without any clock, that no delete is missing behind a snapshot.

Compaction removes deletes after `delete.retention.ms`. Without them a replay would leave the deleted rows of the
snapshot in place. So before a snapshot is written, its group commits a mark to each of the snapshot's changelogs: a
delete of a key that no row has. Compaction keeps a delete at least as long as any older delete of the same partition,
so as long as the mark is there, every later delete is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.processor.messages import Headers

MARK = b"\x01snapshot\0" + bytes.fromhex("1d0b7c2f5a6e4b0c9d3c8a51f4e2b796")
"""Key of a mark; the random bytes keep it apart from the keys of users."""
NUMBER = "forebay.snapshot"
"""Header that holds a mark's number; in a snapshot's offsets it stands next to the topics."""


@dataclass(frozen=True, slots=True)
class SnapshotMark:
    """A mark of one changelog partition.

    Args:
        number: of the snapshot; no other snapshot has it.
        timestamp: of its record, in ms.
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
    """Return the number of a mark by the headers of its record; -1 if they hold none."""
    # A mark without its header proves nothing. It is read as if there were no mark, so the changelogs are read from the
    # beginning.
    text = dict(headers or ()).get(NUMBER)
    return int(text) if text else -1
