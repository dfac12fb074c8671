"""The records, processor and codec of the tasks under test."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from forebay.codec import DecodeError, EncodeError
from forebay.processor import Context, Processor, Timer
from forebay.processor.codecs import Codecs
from forebay.processor.messages import Headers
from forebay.stores import KeyValueStore

APPLICATION = "app"
TOPIC = "numbers"
OUTPUT = "totals-out"


@dataclass(frozen=True, slots=True)
class Number:
    event_id: str
    timestamp: int
    amount: int


@dataclass(frozen=True, slots=True)
class Total:
    amount: int
    count: int


class Sum(Processor[Number, Total]):
    """Sums amounts by key and sets an idle timer per key. A negative amount raises after the put and the forward."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        old = self.totals.get(ctx.key) or Total(0, 0)
        new = Total(old.amount + event.amount, old.count + 1)
        self.totals.put(ctx.key, new)
        ctx.forward(new)
        ctx.schedule("idle", event.timestamp + 1_000)
        if event.amount < 0:
            raise ValueError("negative amount")

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        total = self.totals.get(ctx.key)
        if total is not None:
            ctx.forward(Total(total.amount, -1))


class JsonCodec:
    """A codec that encodes records as JSON lists."""

    def __init__(self, kind: type[Any]) -> None:
        self._kind = kind

    def encode(self, record: Any) -> bytes:
        values = [getattr(record, name) for name in self._kind.__slots__]
        if any(isinstance(value, float) for value in values):
            raise EncodeError("a float does not fit")
        return json.dumps(values).encode()

    def decode(self, data: bytes) -> Any:
        try:
            return self._kind(*json.loads(data))
        except (ValueError, TypeError) as error:
            raise DecodeError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Record:
    """A record of the input topic (implements `Message`)."""

    offset_: int
    key_: bytes | None
    value_: bytes | None
    partition_: int = 0

    def topic(self) -> str:
        return TOPIC

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return [("origin", b"test")]

    def timestamp(self) -> tuple[int, int]:
        return 1, 77


CODECS = Codecs({TOPIC: JsonCodec(Number)}, {"totals": JsonCodec(Total)}, {OUTPUT: JsonCodec(Total)})
