"""What a record sees of its task while it is processed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from forebay.codec import Codec, EncodeError
from forebay.limits.room import HEADER_BYTES, Room
from forebay.processor.api import NO_KEY, NoKey, Timer
from forebay.processor.batch import Position
from forebay.processor.engine_settings import OUTPUT_BYTES
from forebay.processor.forwarded import own_headers
from forebay.processor.messages import Headers, Message, Output
from forebay.processor.timers import NEVER

IN_TIME = -1
_SHORT = 1_000
_made = tuple.__new__
"""Makes a named tuple of all its fields: its own way there costs three times as much."""

Target = tuple[Codec[Any], Room]
"""How an output is encoded, and what its topic takes."""


def _call(step: Callable[[], None]) -> None:
    step()


class TaskContext:
    """One per task, pointed at each record in turn (implements `Context`).

    Args:
        targets: codec of each output topic and repartition, by name, and what it takes.
        default: the target of what is forwarded without one; "": there is none.
        max_bytes: largest output value.
        max_output_bytes: what the outputs of one record or timer may take together.
        timers: what the topic of the task's timers takes.
        write_key: what makes a key's bytes of its row text, by target; UTF-8 unless named.
        names: by topic, where its records are known by another.
        handed: repartition topics that are read.
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
        """Runs a step whose failure undoes the step alone and reports the record; the engine sets it."""
        self.apart: Callable[[Timer, Callable[[TaskContext], None]], None] = self._call_apart
        """Runs a step as if that timer fired now, apart from the record in hand; the engine sets it."""
        self.message: Message | None = None
        self.key: Any = ""  # text, or None where a topic's records may have no key
        self.timestamp = -1
        self.stream_time = -1
        self.current_system_time = 0
        self.closing_time = -1
        self.late_by = IN_TIME
        self.record_follows = False  # whether timers fire because of a record that is processed next
        self.outputs: list[Output] = []
        self.output_bytes_left = max_output_bytes
        """What the outputs of the record or timer in hand may still take."""
        self.timer_ops: list[tuple[str, str, int | None]] = []

    def begin(self, clock: int, position: Position) -> list[Output]:
        """Begin a commit at a position of the task; return the list of its outputs."""
        self.current_system_time = clock
        self.outputs = []
        self.timer_ops.clear()
        self.late_by = IN_TIME
        self.record_follows = False
        self.stream_time = position.stream_time
        # A position that was written before any idle time has no closing time of its own.
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
        # The sender's name comes first in a forwarded record. Logic must neither see it nor send it on.
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
                    f"an output of {len(data)} bytes is above the limit of {self._max_bytes}: raise max_record_bytes "
                    "and the output topic's max.message.bytes, or bound the record"
                )
            size += len(data)
        if headers:
            size += sum(len(name) + len(text or b"") + HEADER_BYTES for name, text in headers)
        # A broker refuses what is too large or too far ahead together with its transaction, at every attempt. Here only
        # the record that caused it fails.
        if size > room.most or at.__class__ is not int or not room.first <= at <= room.last:
            room.check(f"an output to {to} (key of {0 if raw is None else len(raw)} bytes)", size, at)
        self.output_bytes_left -= size + OUTPUT_BYTES
        if self.output_bytes_left < 0:
            raise EncodeError(
                f"the outputs of one record or timer take more than {self._max_output_bytes} bytes (max_output_bytes; "
                f"each output counts as {OUTPUT_BYTES} bytes and its key, value and headers): bound what the logic "
                "forwards, or raise the limit"
            )
        self.outputs.append(_made(Output, (raw, data, at, to, headers, partition)))

    def partitions_of(self, target: str) -> int:
        """Return how many partitions an output or a repartition has; 0: that is not known."""
        return self._targets[target][1].partitions

    def late(self, by_ms: int) -> None:
        self.late_by = by_ms

    def schedule(self, name: str, due: int, key: str | None = None) -> None:
        of = self.key if key is None else key
        if due.__class__ is not int or not -NEVER <= due <= NEVER:
            raise ValueError(f"the timer {name!r} is due at {due!r}: specify a whole number of ms, at most {NEVER}")
        size = len(name) + len(of)
        # Text in ASCII has as many bytes as characters. A short one has room without being encoded for it.
        if size > _SHORT or not of.isascii():
            self._timers.check(
                f"the row of the timer {name!r}", len(name.encode()) + len(of.encode()), self._timers.first
            )
        # Not set at once: if the record fails, its timers must not exist.
        self.timer_ops.append((name, of, due))

    def cancel(self, name: str, key: str | None = None) -> None:
        self.timer_ops.append((name, self.key if key is None else key, None))
