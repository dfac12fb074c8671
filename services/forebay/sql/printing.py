"""Parser of PRINT, which shows the records of a topic without a declaration."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.sql.reader import Reader
from forebay.sql.syntax import Command


@dataclass(frozen=True, slots=True)
class Print(Command):
    """A PRINT statement.

    Args:
        from_beginning: Whether it starts at the beginning of the topic.
        every: Interval of the records that are shown. 1 shows all records, 2 every second record.
        limit: Largest number of records, or None if it does not end.
    """

    from_beginning: bool = False
    every: int = 1
    limit: int | None = None


def read_print(read: Reader) -> Print:
    """Return the PRINT statement, of which the reader has read the first word. Raises SqlError."""
    topic = read.step().text if read.token.kind == "text" else read.name("a topic's name")
    from_beginning = read.take("FROM", "BEGINNING")
    every = read.whole() if read.take("INTERVAL") or read.take("SAMPLE") else 1
    if not every:
        read.fail("an INTERVAL of 1 or more")
    limit = read.whole() if read.take("LIMIT") else None
    return Print("PRINT", topic, from_beginning=from_beginning, every=every, limit=limit)
