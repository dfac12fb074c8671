"""Records on their way into a task and out of it, as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

Headers = list[tuple[str, bytes | None]]


class Message(Protocol):
    """One record read from a topic (confluent_kafka.Message has this shape)."""

    def topic(self) -> str: ...
    def partition(self) -> int: ...
    def offset(self) -> int: ...
    def key(self) -> bytes | None: ...
    def value(self) -> bytes | None: ...
    def headers(self) -> Headers | None: ...
    def timestamp(self) -> tuple[int, int]:
        """Return (kind of timestamp, ms)."""
        ...


class Output(NamedTuple):
    """A record for an output topic or a repartition, by name of the target; `timestamp` in ms.

    Args:
        partition: of an output; of a repartition a number that is taken modulo its partitions; None: as the key's hash
            says.
    """

    key: bytes | None
    value: bytes | None
    timestamp: int
    target: str
    headers: Headers | None = None
    partition: int | None = None


class SideRecord(NamedTuple):
    """A record for `<application>.errors` or `.late`: the original with headers that explain; `timestamp` in ms."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class ErrorStage:
    """Where a record failed (header error.stage)."""

    # Kafka Connect's word: its dead-letter header `__connect.errors.stage` says the same. Not a sub-topology.
    DECODE = "decode"
    PROCESS = "process"
    ENCODE = "encode"


class Origin(NamedTuple):
    """Where a record comes from, and its headers."""

    partition: int
    offset: int
    headers: Sequence[tuple[str, bytes | None]] = ()
