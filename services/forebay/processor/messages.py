"""Encoded records that a task reads and writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = list[tuple[str, bytes | None]]


class Message(Protocol):
    """A record that was read from a topic (confluent_kafka.Message implements this)."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Headers | None: ...
    def timestamp(self) -> tuple[int, int]:
        """Return the kind of timestamp, and the timestamp in ms."""
        ...


class Output(NamedTuple):
    """A record for an output topic or a repartition, with its `timestamp` in ms.

    Args:
        target: Name of the output topic or repartition.
        partition: Partition of an output, or number for a repartition that is taken modulo its partitions. None: the
            partition follows from the hash of the key.
    """

    key: bytes | None
    value: bytes | None
    timestamp: int
    target: str
    headers: Headers | None = None
    partition: int | None = None


class SideRecord(NamedTuple):
    """A record for `<application>.errors` or `.late`: the original with headers that explain it; `timestamp` in ms."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class ErrorStage:
    """The phase in which a record failed (header error.stage)."""

    # The term of Kafka Connect's dead-letter header `__connect.errors.stage`. It does not mean a sub-topology.
    DECODE = "decode"
    PROCESS = "process"
    ENCODE = "encode"


class Origin(NamedTuple):
    """The partition and offset of a record, and its headers."""

    partition: int
    offset: int
    headers: Sequence[tuple[str, bytes | None]] = ()
