"""The records of topics in memory, and of tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from forebay.formats import no_contracts
from forebay.processor.codecs import Codecs
from forebay.processor.messages import Headers

O = TypeVar("O")  # noqa: E741

Sink = Callable[[bytes | None, bytes | None, int, Headers | None, int | None], None]
"""Receives a record that was sent to a topic: key, value, timestamp (ms), headers, chosen partition."""


@dataclass(frozen=True, slots=True)
class Forwarded(Generic[O]):
    """An output record with its decoded key and value, and its timestamp in ms. A value of None is a tombstone.

    Args:
        partition: Partition that a partitioner chose. None: it follows from the hash of the key.
    """

    key: Any
    value: O
    timestamp: int
    topic: str = ""
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A record of `.errors` or `.late`, with its headers as text."""

    key: bytes | None
    value: bytes | None
    headers: dict[str, str]


@dataclass(frozen=True, slots=True)
class PipedRecord:
    """A record of a topic in memory (implements `Message`)."""

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


def show_output(topic: str, codecs: Codecs, give: Callable[[Forwarded[Any]], None]) -> Sink:
    """Return a sink that decodes the records of an output topic and passes them to `give`."""
    kind = codecs.keys.get(topic)
    read_key = bytes.decode if kind is None else kind.codec(no_contracts).decode
    read_value = codecs.outputs[topic].decode

    def show(
        key: bytes | None, value: bytes | None, timestamp: int, headers: Headers | None, partition: int | None
    ) -> None:
        shown_key, shown_value = None if key is None else read_key(key), None if value is None else read_value(value)
        give(Forwarded(shown_key, shown_value, timestamp, topic, tuple(headers or ()), partition))

    return show


def show_failure(give: Callable[[Failure], None]) -> Sink:
    """Return a sink that passes records of `.errors` or `.late`, with their headers as text, to `give`."""

    def show(key: bytes | None, value: bytes | None, _: int, headers: Headers | None, __: int | None) -> None:
        texts = {name: (text or b"").decode(errors="backslashreplace") for name, text in headers or ()}
        give(Failure(key, value, texts))

    return show
