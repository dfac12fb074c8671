"""PRINT: the records of a topic as they are, without a declaration."""

from __future__ import annotations

from dataclasses import dataclass

from forebay.sql.reader import Reader
from forebay.sql.syntax import Command


@dataclass(frozen=True, slots=True)
class Print(Command):
    """PRINT of a topic.

    Args:
        from_beginning: whether it begins with the records on the topic.
        every: 1 shows each record, 2 every second one.
        limit: how many records it shows; None: it has no end.
    """

    from_beginning: bool = False
    every: int = 1
    limit: int | None = None


def read_print(read: Reader) -> Print:
    """Return the statement whose verb was read. Raises SqlError."""
    topic = read.step().text if read.token.kind == "text" else read.name("a topic's name")
    from_beginning = read.take("FROM", "BEGINNING")
    every = read.whole() if read.take("INTERVAL") or read.take("SAMPLE") else 1
    if not every:
        read.fail("an INTERVAL of 1 or more")
    limit = read.whole() if read.take("LIMIT") else None
    return Print("PRINT", topic, from_beginning=from_beginning, every=every, limit=limit)
