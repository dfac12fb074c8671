"""What a record sees of its task while it is processed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forebay.codec import Codec, EncodeError
from forebay.processor.messages import Output
from forebay.processor.timers import NEVER
from forebay.room import Room

IN_TIME = -1
_SHORT = 1_000

Target = tuple[Codec[Any], Room]
"""How an output is encoded, and what its topic takes."""


class TaskContext:
    """One per task, pointed at each record in turn (implements `Context`).

    Args:
        targets: codec of each output topic and of the next stage, by name, and what it takes.
        default: the target of what is forwarded without one.
        max_bytes: largest output value.
        timers: what the topic of the task's timers takes.
    """

    __slots__ = (
        "_default",
        "_default_target",
        "_max_bytes",
        "_targets",
        "_timers",
        "closing_time",
        "key",
        "late_by",
        "outputs",
        "stream_time",
        "timer_ops",
        "timestamp",
    )

    def __init__(self, targets: Mapping[str, Target], default: str, max_bytes: int, timers: Room) -> None:
        self._targets = targets
        self._default = default
        self._default_target = targets[default]
        self._max_bytes = max_bytes
        self._timers = timers
        self.key = ""
        self.timestamp = -1
        self.stream_time = -1
        self.closing_time = -1
        self.late_by = IN_TIME
        self.outputs: list[Output] = []
        self.timer_ops: list[tuple[str, str, int | None]] = []

    def forward(self, value: Any, key: str | None = None, timestamp: int | None = None, to: str | None = None) -> None:
        if to is None:
            to, (codec, room) = self._default, self._default_target
        elif to in self._targets:
            codec, room = self._targets[to]
        else:
            raise ValueError(f"nothing is called {to!r} here: forward to one of {', '.join(self._targets)}")
        raw = (self.key if key is None else key).encode()
        at = self.timestamp if timestamp is None else timestamp
        data, size = None, len(raw)
        if value is not None:
            data = codec.encode(value)
            if len(data) > self._max_bytes:
                raise EncodeError(
                    f"an output of {len(data)} bytes is above the limit of {self._max_bytes}: raise max_record_bytes "
                    "and the output topic's max.message.bytes, or bound the record"
                )
            size += len(data)
        if size > room.most or at.__class__ is not int or not room.first <= at <= room.last:
            room.check(f"an output to {to} (key of {len(raw)} bytes)", size, at)
        self.outputs.append(Output(raw, data, at, to))

    def late(self, by_ms: int) -> None:
        self.late_by = by_ms

    def schedule(self, name: str, due: int, key: str | None = None) -> None:
        of = self.key if key is None else key
        if due.__class__ is not int or not -NEVER <= due <= NEVER:
            raise ValueError(f"the timer {name!r} is due at {due!r}: give a whole number of ms, at most {NEVER}")
        size = len(name) + len(of)
        if size > _SHORT or not of.isascii():
            self._timers.check(
                f"the row of the timer {name!r}", len(name.encode()) + len(of.encode()), self._timers.first
            )
        self.timer_ops.append((name, of, due))

    def cancel(self, name: str, key: str | None = None) -> None:
        self.timer_ops.append((name, self.key if key is None else key, None))
