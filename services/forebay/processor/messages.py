"""Records on their way into a task and out of it, as bytes."""

from __future__ import annotations

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
        """Give (kind of timestamp, ms)."""
        ...


class Output(NamedTuple):
    """A record for an output topic or a repartition, by name of the target; `timestamp` in ms."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    target: str
    headers: Headers | None = None


class SideRecord(NamedTuple):
    """A record for `<service>.errors` or `.late`: the original with headers that explain; `timestamp` in ms."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: Headers


class ErrorStage:
    """Where a record failed (header error.stage)."""

    DECODE = "decode"
    PROCESS = "process"
    ENCODE = "encode"


def error_record(message: Message, service: str, stage: str, error: Exception, clock: int) -> SideRecord:
    """Give the record that tells of `error`: key, value and headers unchanged, error.* headers added.

    Args:
        clock: the batch's clock (ms), used where the record has no timestamp of its own.
    """
    timestamp = message.timestamp()[1]
    facts: dict[str, str] = {
        "error.class": type(error).__name__,
        "error.message": str(error),
        "error.stage": stage,
        "error.topic": message.topic(),
        "error.partition": str(message.partition()),
        "error.offset": str(message.offset()),
        "error.timestamp": str(timestamp),
        "error.service": service,
    }
    headers = list(message.headers() or []) + [(name, text.encode()) for name, text in facts.items()]
    return SideRecord(message.key(), message.value(), timestamp if timestamp >= 0 else clock, headers)


def late_record(message: Message, by_ms: int, stream_time: int, clock: int) -> SideRecord:
    """Give the record that came too late: unchanged, with late.by_ms and late.stream_time headers."""
    timestamp = message.timestamp()[1]
    added: Headers = [("late.by_ms", str(by_ms).encode()), ("late.stream_time", str(stream_time).encode())]
    return SideRecord(
        message.key(), message.value(), timestamp if timestamp >= 0 else clock, list(message.headers() or []) + added
    )
