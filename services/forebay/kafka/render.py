"""Records as JSON lines, for people."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from confluent_kafka import Message

from forebay.codec import DecodeError
from forebay.serde.generic import GenericDecoder
from forebay.serde.resolver import SchemaResolver


class Renderer:
    """Shows records: place, time (ms), key, value, and headers if they are wanted."""

    def __init__(self, resolver: SchemaResolver, with_headers: bool) -> None:
        self._decoder = GenericDecoder(resolver)
        self._with_headers = with_headers

    def line(self, record: Message) -> str:
        """Return the record as one line of JSON. Raises RegistryUnavailable."""
        shown: dict[str, Any] = {
            "partition": record.partition(),
            "offset": record.offset(),
            "timestamp": record.timestamp()[1],
            "key": _readable(record.key()),
            **self._value(record.value()),
        }
        if self._with_headers:
            shown["headers"] = {name: _readable(value) for name, value in _headers(record)}
        return json.dumps(shown, ensure_ascii=False, default=_readable)

    def _value(self, data: bytes | None) -> dict[str, Any]:
        if data is None:
            return {"value": None}
        if not data:
            return {"value": None, "note": "no bytes: a version that is null"}
        try:
            return {"value": self._decoder.decode(data)}
        except DecodeError as error:
            if data[:1] in (b"{", b"["):
                with suppress(ValueError):
                    return {"value": json.loads(data), "note": "JSON"}
            return {"value": _readable(data), "note": f"not Avro, shown as {_kind(data)}: {error}"}


def _headers(record: Message) -> list[tuple[str, str | bytes | None]]:
    return list(record.headers() or ())  # type: ignore[arg-type]


def _readable(value: Any) -> Any:
    """Return bytes as text if they are printable text, else as hexadecimal digits; anything else as it prints."""
    if value is None or not isinstance(value, bytes):
        return value if value is None or isinstance(value, str) else str(value)
    return value.decode() if _kind(value) == "text" else value.hex()


def _kind(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "hex"
    return "text" if all(c.isprintable() or c in "\n\r\t" for c in text) else "hex"
