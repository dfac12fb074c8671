"""Reading any Avro record as plain values, under its writer's schema: for people to look at."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any

import fastavro

from forebay.codec import DecodeError
from forebay.serde.framing import HEADER_BYTES, schema_id_of
from forebay.serde.resolver import SchemaResolver


class GenericDecoder:
    """Turns framed bytes into dicts, lists and scalars."""

    def __init__(self, resolver: SchemaResolver) -> None:
        self._resolver = resolver
        self._parsed: dict[int, Any] = {}

    def decode(self, data: bytes) -> Any:
        """Give the value in framed bytes. Raises DecodeError, RegistryUnavailable."""
        schema_id = schema_id_of(data)
        body = BytesIO(data)
        body.seek(HEADER_BYTES)
        try:
            if schema_id not in self._parsed:
                text = self._resolver.schema(schema_id).text
                self._parsed[schema_id] = fastavro.parse_schema(json.loads(text))
            value = fastavro.schemaless_reader(body, self._parsed[schema_id], None)
        except (
            EOFError,
            LookupError,
            ValueError,
            TypeError,
            OverflowError,
            fastavro.schema.SchemaParseException,
        ) as error:
            raise DecodeError(f"not a record of schema {schema_id}: {type(error).__name__} {error}".rstrip()) from error
        left = len(data) - body.tell()
        if left:
            raise DecodeError(f"not a record of schema {schema_id}: {left} trailing bytes")
        return value
