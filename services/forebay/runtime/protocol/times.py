"""What tasks tell the tasks behind them, in a repartition topic: who sends, and how far its time has come."""

from __future__ import annotations

import json
from dataclasses import dataclass

from forebay.processor.context import SENDER
from forebay.processor.messages import Headers

TIME = "forebay.time"


@dataclass(frozen=True, slots=True)
class TaskTime:
    """How far a task has come, told to every task that it forwards to.

    Args:
        stream_time: in ms.
        caught_up: whether it has read all that was there, and so have those before it.
        idle_ms: how long nothing has come to it.
        done: number of the lease in which it will send nothing more; 0: none.
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
        """Read the header's value."""
        stream_time, caught_up, idle_ms, done = json.loads(data)
        return cls(stream_time, bool(caught_up), idle_ms, done)


def sender_name(sub_topology: str | int, task: int) -> str:
    """Return what names a sender: its sub-topology and the task's number.

    Args:
        sub_topology: its name (see `SubTopology.identity`); its number in records that release 0.2 wrote.
    """
    return f"{sub_topology}-{task}"


def data_headers(sender: str) -> Headers:
    """Return the headers of a record that is forwarded."""
    return [(SENDER, sender.encode())]


def time_headers(sender: str, time: TaskTime) -> Headers:
    """Return the headers of a record without key and value that tells a sender's time."""
    return [(SENDER, sender.encode()), (TIME, time.to_json())]
