"""What a record sees of its task while it is processed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from forebay.codec import Codec, EncodeError
from forebay.processor.messages import Headers, Message, Output

IN_TIME = -1


class TaskContext:
    """One per task, pointed at each record in turn (implements `Context`).

    Args:
        targets: codec of each output topic and repartition, by name.
        default: the target of what is forwarded without one.
        write_key: what makes a key's bytes of its row text, by target; UTF-8 unless named.
    """

    __slots__ = (
        "_default",
        "_default_codec",
        "_max_bytes",
        "_targets",
        "_write_key",
        "closing_time",
        "key",
        "late_by",
        "message",
        "outputs",
        "stream_time",
        "timer_ops",
        "timestamp",
    )

    def __init__(
        self,
        targets: Mapping[str, Codec[Any]],
        default: str,
        max_bytes: int,
        write_key: Mapping[str, Callable[[str], bytes]] = MappingProxyType({}),
    ) -> None:
        self._targets = targets
        self._default = default
        self._default_codec = targets[default]
        self._max_bytes = max_bytes
        self._write_key = write_key
        self.message: Message | None = None
        self.key: Any = ""  # text, or None where a topic's records may have no key
        self.timestamp = -1
        self.stream_time = -1
        self.closing_time = -1
        self.late_by = IN_TIME
        self.outputs: list[Output] = []
        self.timer_ops: list[tuple[str, str, int | None]] = []

    @property
    def topic(self) -> str:
        return "" if self.message is None else self.message.topic()

    @property
    def partition(self) -> int:
        return -1 if self.message is None else self.message.partition()

    @property
    def offset(self) -> int:
        return -1 if self.message is None else self.message.offset()

    @property
    def headers(self) -> Headers:
        return [] if self.message is None else self.message.headers() or []

    def forward(
        self,
        value: Any,
        key: str | None = None,
        timestamp: int | None = None,
        to: str | None = None,
        headers: Headers | None = None,
    ) -> None:
        if to is None:
            to, codec = self._default, self._default_codec
        elif to in self._targets:
            codec = self._targets[to]
        else:
            raise ValueError(f"nothing is called {to!r} here: forward to one of {', '.join(self._targets)}")
        data = None
        if value is not None:
            data = codec.encode(value)
            if len(data) > self._max_bytes:
                raise EncodeError(
                    f"an output of {len(data)} bytes is above the limit of {self._max_bytes}: raise max_record_bytes "
                    "and the output topic's max.message.bytes, or bound the record"
                )
        if key is None:
            key = self.key
        write = self._write_key.get(to) if self._write_key else None
        self.outputs.append(
            Output(
                None if key is None else key.encode() if write is None else write(key),
                data,
                self.timestamp if timestamp is None else timestamp,
                to,
                headers,
            )
        )

    def late(self, by_ms: int) -> None:
        self.late_by = by_ms

    def schedule(self, name: str, due: int, key: str | None = None) -> None:
        self.timer_ops.append((name, self.key if key is None else key, due))

    def cancel(self, name: str, key: str | None = None) -> None:
        self.timer_ops.append((name, self.key if key is None else key, None))
