"""Records for `<application>.errors` and `.late`: the original with headers that explain it.

A report must never stop a job. Parts that exceed the topic's limits are left out, and a header says so.
"""

from __future__ import annotations

from collections.abc import Mapping

from forebay.limits.room import HEADER_BYTES, Room
from forebay.processor.messages import Headers, Message, SideRecord

_LONGEST_TEXT = 2_000


def error_record(
    message: Message, service: str, stage: str, error: BaseException, clock: int, room: Room | None = None
) -> SideRecord:
    """Return the report of a failed record: its key, value and headers, with added error.* headers.

    Args:
        clock: The commit's clock (ms), which is used if the topic does not accept the record's timestamp.
        room: Record limits of the topic. None: no limits.
    """
    facts = {
        "class": type(error).__name__,
        "message": _say(error),
        "stage": stage,
        "topic": message.topic(),
        "partition": str(message.partition()),
        "offset": str(message.offset()),
        "timestamp": str(message.timestamp()[1]),
        "service": service,
    }
    return _record(message, "error", facts, clock, room)


def late_record(message: Message, by_ms: int, stream_time: int, clock: int, room: Room | None = None) -> SideRecord:
    """Return the report of a late record: its key, value and headers, with added late.* headers."""
    return _record(message, "late", {"by_ms": str(by_ms), "stream_time": str(stream_time)}, clock, room)


def _record(message: Message, kind: str, facts: Mapping[str, str], clock: int, room: Room | None) -> SideRecord:
    headers, facts = _original_headers(message), dict(facts)
    if headers is None:
        facts["headers"] = "left out: the name of one of them is not UTF-8"
    timestamp = at = message.timestamp()[1]
    if timestamp < 0:
        at = clock
    elif room is not None and not room.first <= timestamp <= room.last:
        facts["timestamp"], at = str(timestamp), clock
    record = SideRecord(message.key(), message.value(), at, [*(headers or []), *_as_headers(kind, facts)])
    if room is None or _size(record) <= room.most:
        return record
    # Without its value or key, the report must at least say where the original is. The headers of errors already do.
    facts |= {"topic": message.topic(), "partition": str(message.partition()), "offset": str(message.offset())}
    return _shorten(record, headers or [], kind, facts, room)


def _shorten(record: SideRecord, headers: Headers, kind: str, facts: Mapping[str, str], room: Room) -> SideRecord:
    """Return the record without the largest of its value, key and headers and, if necessary, without the next ones."""
    size = _size(record)
    parts = {"value": len(record.value or b""), "key": len(record.key or b""), "headers": _headers_size(headers)}
    left_out: dict[str, int] = {}
    for part in sorted(parts, key=lambda part: -parts[part]):
        left_out[part] = parts[part]
        parts_left_out = ", ".join(f"{name} ({count} bytes)" for name, count in left_out.items())
        shortened = {**facts, "shortened": f"{parts_left_out} left out: {room.too_large('the record', size)}"}
        headers_left = [] if "headers" in left_out else headers
        record = SideRecord(
            None if "key" in left_out else record.key,
            None if "value" in left_out else record.value,
            record.timestamp,
            [*headers_left, *_as_headers(kind, shortened)],
        )
        if _size(record) <= room.most:
            break
    return record


def _size(record: SideRecord) -> int:
    return len(record.key or b"") + len(record.value or b"") + _headers_size(record.headers)


def _headers_size(headers: Headers) -> int:
    return sum(len(name.encode()) + len(value or b"") + HEADER_BYTES for name, value in headers)


def _as_headers(kind: str, facts: Mapping[str, str]) -> Headers:
    """Return facts as headers. A lone surrogate, which UTF-8 can't encode, is written as an escape sequence."""
    return [(f"{kind}.{name}", text.encode(errors="backslashreplace")) for name, text in facts.items()]


def _original_headers(message: Message) -> Headers | None:
    """Return the record's headers, or None if the client can't return them because a name is not UTF-8."""
    try:
        return list(message.headers() or [])
    except UnicodeDecodeError:
        return None


def _say(error: BaseException) -> str:
    """Return an error's text, cut to _LONGEST_TEXT characters. An error in `__str__` is reported in its place."""
    try:
        text = str(error)
    except Exception as failure:
        return f"(its text can't be made: {type(failure).__name__})"
    if not text and isinstance(error, MemoryError):
        return "the memory did not suffice for this record alone: limit what the logic computes from it"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}... ({len(text)} characters)"
