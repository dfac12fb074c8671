"""Headers and times for functions, and contexts with other headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.nodes import Flow
from forebay.ksml.values import WrongType
from forebay.processor.api import Context
from forebay.processor.messages import Headers


class WithHeaders:
    """A task's context with other headers of the record."""

    def __init__(self, ctx: Context[Any], headers: Headers) -> None:
        self._ctx = ctx
        self.headers = headers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


def metadata_flow(call: Callable[..., Any], out: Flow) -> Flow:
    """Return a function that sets a record's headers and timestamp from the user's metadata function."""

    def flow(key: Any, value: Any, timestamp: int, ctx: Any) -> None:
        given = {
            "@type": "RecordMetadata",
            "@schema": "",
            "timestamp": timestamp,
            "headers": header_entries(ctx.headers),
        }
        metadata = call(key, value, given)
        if metadata is None:
            out(key, value, timestamp, ctx)
            return
        if not isinstance(metadata, dict) or not isinstance(metadata.get("timestamp"), int):
            raise WrongType(
                f"{metadata!r} is not metadata: return the object that was passed, with headers and timestamp"
            )
        out(key, value, metadata["timestamp"], WithHeaders(ctx, headers_of(metadata.get("headers") or ())))

    return flow


def header_entries(headers: Headers) -> list[dict[str, Any]]:
    """Return headers for functions: dicts of key and value, as text if they are text."""
    return [{"key": name, "value": None if raw is None else _text(raw)} for name, raw in headers]


def headers_of(found: Any) -> Headers:
    """Return the headers that a function returned. Raises WrongType."""
    try:
        return [(str(header["key"]), _bytes(header.get("value"))) for header in found]
    except (TypeError, KeyError, AttributeError) as error:
        raise WrongType(f"{found!r} are not headers: give a list of objects with key and value") from error


def context_of(timestamp: int, ctx: Any) -> dict[str, Any]:
    """Return the context of a record that is passed to functions when it is sent."""
    return {
        "offset": ctx.offset,
        "timestamp": timestamp,
        "topic": ctx.topic,
        "partition": ctx.partition,
        "headers": header_entries(ctx.headers),
    }


def _text(raw: bytes) -> Any:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _bytes(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return str(value).encode()
