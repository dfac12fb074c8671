"""Records as a test gives them and sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forebay.formats import no_contracts
from forebay.processor.engine import Codecs
from forebay.processor.messages import Headers, Output, SideRecord

O = TypeVar("O")  # noqa: E741


@dataclass(frozen=True, slots=True)
class Forwarded(Generic[O]):
    """One output: key and value decoded (a value of None: a tombstone), timestamp in ms, topic, headers.

    Args:
        partition: that a partitioner chose; None: the key's hash does.
    """

    key: Any
    value: O
    timestamp: int
    topic: str = ""
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """One record of `.errors` or `.late`, its headers as text."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class PipedRecord:
    """A record as it would come from Kafka (implements `Message`)."""

    source: str
    offset_: int
    key_: bytes | None
    value_: bytes | None
    timestamp_: int
    headers_: Headers
    partition_: int | None = None

    def topic(self) -> str:
        return self.source

    def partition(self) -> int:
        return self.partition_ or 0

    def offset(self) -> int:
        return self.offset_

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return self.headers_

    def timestamp(self) -> tuple[int, int]:
        return 1, self.timestamp_


def shown(output: Output, codecs: Codecs) -> Forwarded[Any]:
    """Return an output decoded."""
    value = None if output.value is None else codecs.outputs[output.target].decode(output.value)
    kind = codecs.keys.get(output.target)
    read = bytes.decode if kind is None else kind.codec(no_contracts).decode
    key = None if output.key is None else read(output.key)
    return Forwarded(key, value, output.timestamp, output.target, tuple(output.headers or ()), output.partition)


def failure(record: SideRecord) -> Failure:
    """Return a side record with its headers as text."""
    headers = {name: (value or b"").decode(errors="backslashreplace") for name, value in record.headers}
    return Failure(record.key, record.value, headers)
