"""Headers in repartition topics, by which tasks name themselves and announce their time to downstream tasks."""

from __future__ import annotations

import json
from dataclasses import dataclass

from forebay.processor.messages import Headers, Message
from forebay.processor.repartition_headers import SENDER

TIME = "forebay.time"
_FORMAT = "@"
"""Stands between a sender and the digest of its records' format."""


@dataclass(frozen=True, slots=True)
class TaskTime:
    """A task's progress, announced to every task to which it forwards records.

    Args:
        stream_time: in ms.
        caught_up: whether it and all of its own senders have read and used all records.
        idle_ms: how long it has been idle.
        done: token of the lease in which it will send no more records; 0: none.
    """

    stream_time: int = -1
    caught_up: bool = False
    idle_ms: int = 0
    done: int = 0

    def to_json(self) -> bytes:
        """Return the header's value."""
        return json.dumps([self.stream_time, int(self.caught_up), self.idle_ms, self.done]).encode()

    @classmethod
    def from_json(cls, data: bytes) -> TaskTime:
        """Read the header's value. Raises ValueError if it was not written by Forebay."""
        fields = json.loads(data)
        # Not `isinstance`: JSON's `true` is an int in Python, and a user's header may hold anything.
        if type(fields) is not list or len(fields) != 4 or any(type(number) is not int for number in fields):
            raise ValueError(f"{data!r} is not a time announcement")
        stream_time, caught_up, idle_ms, done = fields
        return cls(stream_time, bool(caught_up), idle_ms, done)


def sender_name(sub_topology: str | int, task: int) -> str:
    """Return a sender's name, from its sub-topology and the task's number.

    Args:
        sub_topology: its name (see `SubTopology.identity`); its number in records that release 0.2 wrote.
    """
    return f"{sub_topology}-{task}"


def data_headers(sender: str, digest: str = "") -> Headers:
    """Return the first headers of a forwarded record.

    Args:
        digest: of the record's format; "": it is not known.
    """
    # No header of its own: one more for each record would cost sender, broker and reader more.
    return [(SENDER, f"{sender}{_FORMAT}{digest}".encode() if digest else sender.encode())]


def sender_and_digest(name: bytes) -> tuple[bytes, str]:
    """Return a record's sender and the digest of its format, from the value of its first header."""
    sender, mark, digest = name.rpartition(_FORMAT.encode())
    return (sender, digest.decode(errors="replace")) if mark else (name, "")


def time_headers(sender: str, time: TaskTime) -> Headers:
    """Return the headers of a control record, without key and value, that announces a sender's time."""
    return [(SENDER, sender.encode()), (TIME, time.to_json())]


def announced_time(message: Message, headers: Headers) -> TaskTime | None:
    """Return the time that a control record announces; None if the record is a user's.

    A forwarded record never has TIME as its second header (see `forwarded_headers`). Release 0.2 did not
    ensure that: its records are distinguished by their key, value and number of headers.
    """
    # A user may set a header of this name. If such a record were mistaken for an announcement, it would be lost.
    if len(headers) != 2 or headers[1][0] != TIME or message.key() is not None or message.value() is not None:
        return None
    try:
        return TaskTime.from_json(headers[1][1] or b"")
    except (ValueError, RecursionError):
        return None
