"""Renders records as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import Message

from forebay.codec import DecodeError
from forebay.serde.generic import GenericDecoder
from forebay.serde.resolver import SchemaResolver


class Renderer:
    """Renders records: partition, offset, timestamp (ms), key, value, and optionally headers.

    Args:
        contents: returns a record's key and value if the topic's formats are known; None: they are guessed.
    """

    def __init__(
        self,
        resolver: SchemaResolver,
        with_headers: bool,
        contents: Callable[[Message], dict[str, Any]] | None = None,
    ) -> None:
        self._decoder = GenericDecoder(resolver)
        self._with_headers = with_headers
        self._contents = contents

    def line(self, record: Message) -> str:
        """Return the record as one line of JSON. Raises RegistryUnavailable."""
        document: dict[str, Any] = {
            "partition": record.partition(),
            "offset": record.offset(),
            "timestamp": record.timestamp()[1],
            **self._fields(record),
        }
        if self._with_headers:
            document["headers"] = {name: _readable(value) for name, value in _headers(record)}
        return json.dumps(document, ensure_ascii=False, default=_readable)

    def _fields(self, record: Message) -> dict[str, Any]:
        if self._contents is None:
            return {"key": _readable(record.key()), **self._value(record.value())}
        try:
            return self._contents(record)
        except (DecodeError, ValueError) as error:
            plain = {"key": _readable(record.key()), **self._value(record.value())}
            return {**plain, "note": f"not what the job of this topic writes: {error}"}

    def _value(self, data: bytes | None) -> dict[str, Any]:
        if data is None:
            return {"value": None}
        if not data:
            return {"value": None, "note": "no bytes: a version that is null"}
        try:
            return {"value": self._decoder.decode(data)}
        except DecodeError as error:
            if data[0]:  # no framed value
                with suppress(ValueError, RecursionError):
                    return {"value": json.loads(data), "note": "JSON"}
                return {"value": _readable(data), "note": f"not Avro, shown as {_kind(data)}"}
            return {"value": _readable(data), "note": f"not Avro, shown as {_kind(data)}: {error}"}


def _headers(record: Message) -> list[tuple[str, str | bytes | None]]:
    return list(record.headers() or ())  # type: ignore[arg-type]


def _readable(value: Any) -> Any:
    """Return bytes as text if they are printable text, else as hexadecimal digits; other values by `str`."""
    if value is None or not isinstance(value, bytes):
        return value if value is None or isinstance(value, str) else str(value)
    return value.decode() if _kind(value) == "text" else value.hex()


def _kind(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "hex"
    return "text" if all(c.isprintable() or c in "\n\r\t" for c in text) else "hex"
