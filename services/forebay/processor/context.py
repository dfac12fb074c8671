"""The context logic is given: what it asks for is gathered per record and kept or dropped as a whole."""

from __future__ import annotations

from typing import Any

from forebay.codec import Codec, EncodeError
from forebay.processor.messages import Output


class TaskContext:
    """One per task, pointed at each record in turn (implements `Context`)."""

    __slots__ = ("_codec", "_max_bytes", "closing_time", "key", "outputs", "stream_time", "timer_ops", "timestamp")

    def __init__(self, output_codec: Codec[Any], max_bytes: int) -> None:
        self._codec = output_codec
        self._max_bytes = max_bytes
        self.key = ""
        self.timestamp = -1
        self.stream_time = -1
        self.closing_time = -1
        self.outputs: list[Output] = []
        self.timer_ops: list[tuple[str, str, int | None]] = []

    def forward(self, value: Any, key: str | None = None) -> None:
        data = self._codec.encode(value)
        if len(data) > self._max_bytes:
            raise EncodeError(
                f"an output of {len(data)} bytes is above the limit of {self._max_bytes}: raise max_record_bytes "
                "and the output topic's max.message.bytes, or bound the record"
            )
        self.outputs.append(Output((self.key if key is None else key).encode(), data, self.timestamp))

    def schedule(self, name: str, due: int) -> None:
        self.timer_ops.append((name, self.key, due))

    def cancel(self, name: str) -> None:
        self.timer_ops.append((name, self.key, None))
