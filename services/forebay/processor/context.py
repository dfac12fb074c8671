"""The context of a task, through which a processor accesses the current record and forwards others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from forebay.codec import Codec, EncodeError
from forebay.limits.room import HEADER_BYTES, Room
from forebay.processor.api import NO_KEY, NoKey, Timer
from forebay.processor.batch import Position
from forebay.processor.engine_settings import OUTPUT_BYTES
from forebay.processor.messages import Headers, Message, Output
from forebay.processor.repartition_headers import own_headers
from forebay.processor.timers import NEVER

IN_TIME = -1
_SHORT = 1_000
_made = tuple.__new__
"""Creates a named tuple. Its own constructor costs three times as much."""

Target = tuple[Codec[Any], Room]
"""Codec of an output, and record limits of its topic."""


def _call(step: Callable[[], None]) -> None:
    step()


class TaskContext:
    """The context of a task, which is set to each record in turn (implements `Context`).

    Args:
        targets: Codec and record limits of each output topic and repartition, by name.
        default: Target of records that are forwarded without one; "": there is no target.
        max_bytes: Largest output value.
        max_output_bytes: Largest sum of the outputs of one record or timer.
        timers: Record limits of the topic of the task's timers.
        write_key: Functions from a key's row text to its bytes, by target. By default, keys are UTF-8.
        names: Names of topics in the job, by topic, if they differ.
        handed: Repartition topics that are read.
    """

    __slots__ = (
        "_default",
        "_default_target",
        "_handed",
        "_max_bytes",
        "_max_output_bytes",
        "_names",
        "_targets",
        "_timers",
        "_write_key",
        "apart",
        "closing_time",
        "current_system_time",
        "isolated",
        "key",
        "late_by",
        "message",
        "output_bytes_left",
        "outputs",
        "record_follows",
        "stream_time",
        "timer_ops",
        "timestamp",
    )

    def __init__(
        self,
        targets: Mapping[str, Target],
        default: str,
        max_bytes: int,
        max_output_bytes: int,
        timers: Room,
        write_key: Mapping[str, Callable[[str], bytes]] = MappingProxyType({}),
        names: Mapping[str, str] = MappingProxyType({}),
        handed: Collection[str] = (),
    ) -> None:
        self._handed = handed
        self._targets = targets
        self._default = default
        self._default_target = targets.get(default)
        self._max_bytes = max_bytes
        self._max_output_bytes = max_output_bytes
        self._timers = timers
        self._write_key = write_key
        self._names = names
        self.isolated: Callable[[Callable[[], None]], None] = _call
        """Runs a step whose failure undoes only the step and reports the record. The engine sets this function."""
        self.apart: Callable[[Timer, Callable[[TaskContext], None]], None] = self._call_apart
        """Runs a step as if a timer fired now, independent of the current record. The engine sets this function."""
        self.message: Message | None = None
        self.key: Any = ""  # text, or None if the record has no key
        self.timestamp = -1
        self.stream_time = -1
        self.current_system_time = 0
        self.closing_time = -1
        self.late_by = IN_TIME
        self.record_follows = False  # whether timers fire because of a record that is processed next
        self.outputs: list[Output] = []
        self.output_bytes_left = max_output_bytes
        """Bytes that are left for outputs of the current record or timer."""
        self.timer_ops: list[tuple[str, str | None, int | None]] = []

    def begin(self, clock: int, position: Position) -> list[Output]:
        """Begin a commit at a position of the task. Return the list for its outputs."""
        self.current_system_time = clock
        self.outputs = []
        self.timer_ops.clear()
        self.late_by = IN_TIME
        self.record_follows = False
        self.stream_time = position.stream_time
        # A position that was written before any idle time has no closing time.
        self.closing_time = max(position.stream_time, position.closing_time)
        return self.outputs

    def _call_apart(self, _timer: Timer, step: Callable[[TaskContext], None]) -> None:
        step(self)

    @property
    def current_stream_time(self) -> int:
        return self.stream_time

    @property
    def topic(self) -> str:
        if self.message is None:
            return ""
        topic = self.message.topic()
        return self._names.get(topic, topic)

    @property
    def partition(self) -> int:
        return -1 if self.message is None else self.message.partition()

    @property
    def offset(self) -> int:
        return -1 if self.message is None else self.message.offset()

    @property
    def headers(self) -> Headers:
        if self.message is None:
            return []
        headers = self.message.headers() or []
        # The sender's name is the first header of a forwarded record. Logic must neither see nor forward it.
        return own_headers(headers) if headers and self.message.topic() in self._handed else headers

    def forward(
        self,
        value: Any,
        key: str | NoKey | None = None,
        timestamp: int | None = None,
        to: str | None = None,
        headers: Headers | None = None,
        partition: int | None = None,
    ) -> None:
        if to is None:
            if self._default_target is None:
                raise ValueError("the job has no output: add one to its outputs=, or do not call forward()")
            to, (codec, room) = self._default, self._default_target
        elif to in self._targets:
            codec, room = self._targets[to]
        else:
            raise ValueError(f"there is no target {to!r}: forward to one of {', '.join(self._targets)}")
        text: str | None = self.key if key is None else None if key is NO_KEY else key
        write = self._write_key.get(to) if self._write_key else None
        raw = None if text is None else text.encode() if write is None else write(text)
        at = self.timestamp if timestamp is None else timestamp
        data, size = None, 0 if raw is None else len(raw)
        if value is not None:
            data = codec.encode(value)
            if len(data) > self._max_bytes:
                raise EncodeError(
                    f"an output of {len(data)} bytes is above the limit of {self._max_bytes} (max_record_bytes): "
                    "make the record smaller"
                )
            size += len(data)
        if headers:
            size += sum(len(name) + len(text or b"") + HEADER_BYTES for name, text in headers)
        # A broker refuses the whole transaction if a record is too large or too far ahead, at every attempt. This check
        # fails only the record that caused the output.
        if size > room.most or at.__class__ is not int or not room.first <= at <= room.last:
            room.check(f"an output to {to} (key of {0 if raw is None else len(raw)} bytes)", size, at)
        self.output_bytes_left -= size + OUTPUT_BYTES
        if self.output_bytes_left < 0:
            raise EncodeError(
                f"the outputs of one record or timer take more than {self._max_output_bytes} bytes (max_output_bytes; "
                f"each output counts as {OUTPUT_BYTES} bytes and its key, value and headers): make the logic forward "
                "less, or give the worker more memory"
            )
        self.outputs.append(_made(Output, (raw, data, at, to, headers, partition)))

    def partitions_of(self, target: str) -> int:
        """Return the number of partitions of an output or repartition; 0 if it is not known."""
        return self._targets[target][1].partitions

    def late(self, by_ms: int) -> None:
        self.late_by = by_ms

    def schedule(self, name: str, due: int, key: str | NoKey | None = None) -> None:
        of: str | None = self.key if key is None else None if key is NO_KEY else key
        if due.__class__ is not int or not -NEVER <= due <= NEVER:
            raise ValueError(f"the timer {name!r} is due at {due!r}: specify a whole number of ms, at most {NEVER}")
        text = of or ""
        size = len(name) + len(text)
        # ASCII text has as many bytes as characters, so a short one need not be encoded to check its size.
        if size > _SHORT or not text.isascii():
            self._timers.check(
                f"the row of the timer {name!r}", len(name.encode()) + len(text.encode()), self._timers.first
            )
        # Buffer the operation, because the timers of a record that fails must not exist.
        self.timer_ops.append((name, of, due))

    def cancel(self, name: str, key: str | NoKey | None = None) -> None:
        self.timer_ops.append((name, self.key if key is None else None if key is NO_KEY else key, None))
