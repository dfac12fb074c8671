"""Prefixes of a task's internal rows that do not belong to a store."""

from __future__ import annotations

KINDS = b"\x01kind\0"
TIMERS = b"\x01timer\0"
FILLED = b"\x01filled\0"
"""Prefix of the records of which stores have the rows of a table, by the name of the table's store."""
FILLED_TOPIC = "topic of "
"""Begins the names of topics in the rows under FILLED, of which all others are names of stores."""
PARKED = b"\x01parked\0"
"""Prefix of rows of a removed sub-topology or topic. They stay in the internal changelog until it is put back."""

PARKED_TIMES = b"\x01times"
"""Key of the parked row that has the position under which a topic was last read, while no sub-topology reads it.

The topic's offsets remain in the position, but the position's later times and senders are those of another
sub-topology. With these times, records that waited would be late. Without the topic's senders, records of a repartition
that were read ahead would be processed twice.
"""

_EMPTY_KEY = b"\xff"
"""The key of a timer whose key is an empty text. No text has this encoding."""


def timer_row(name: str, key: str | None) -> bytes:
    """Return the row of the timer with a name and a key. None: it is a timer of the whole task."""
    # Earlier releases wrote no key for both kinds of timers. Their rows are read as timers of the whole task.
    encoded = b"" if key is None else key.encode() or _EMPTY_KEY
    return TIMERS + name.encode() + b"\0" + encoded


def timer_of(row: bytes) -> tuple[str, str | None]:
    """Return the name and key of the timer of a row. None: it is a timer of the whole task."""
    name, _, key = row[len(TIMERS) :].partition(b"\0")
    return name.decode(), None if not key else "" if key == _EMPTY_KEY else key.decode()
