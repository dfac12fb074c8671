"""What tasks say to the tasks behind them, in a repartition topic: who sends, and how far its time has come."""

from __future__ import annotations

import json
from dataclasses import dataclass

from forebay.processor.forwarded import SENDER
from forebay.processor.messages import Headers, Message

TIME = "forebay.time"


@dataclass(frozen=True, slots=True)
class TaskTime:
    """How far a task has come, announced to every task that it forwards to.

    Args:
        stream_time: in ms.
        caught_up: whether it has read all that was there, and so have those before it.
        idle_ms: how long nothing has come to it.
        done: token of the lease in which it will send nothing more; 0: none.
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
            raise ValueError(f"{data!r} is not an announcement")
        stream_time, caught_up, idle_ms, done = fields
        return cls(stream_time, bool(caught_up), idle_ms, done)


def sender_name(sub_topology: str | int, task: int) -> str:
    """Return what names a sender: its sub-topology and the task's number.

    Args:
        sub_topology: its name (see `SubTopology.identity`); its number in records that release 0.2 wrote.
    """
    return f"{sub_topology}-{task}"


def data_headers(sender: str) -> Headers:
    """Return the headers that a forwarded record begins with."""
    return [(SENDER, sender.encode())]


def time_headers(sender: str, time: TaskTime) -> Headers:
    """Return the headers of a control record, without key and value, that announces a sender's time."""
    return [(SENDER, sender.encode()), (TIME, time.to_json())]


def announced_time(message: Message, headers: Headers) -> TaskTime | None:
    """Return the time that a control record announces; None if the record is a user's.

    A forwarded record never has TIME as its second header (see `forwarded_headers`). Release 0.2 did not
    ensure that: its records are distinguished by their key, value and number of headers.
    """
    # A user may set a header of this name. If such a record were taken for an announcement, it would vanish.
    if len(headers) != 2 or headers[1][0] != TIME or message.key() is not None or message.value() is not None:
        return None
    try:
        return TaskTime.from_json(headers[1][1] or b"")
    except (ValueError, RecursionError):
        return None
