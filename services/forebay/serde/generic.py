"""Decoding of any Avro record to plain values with its writer's schema, for display."""

from __future__ import annotations

import json
from io import BytesIO
from typing import Any, NamedTuple

import fastavro

from forebay.codec import DecodeError
from forebay.serde.decimals import BOUNDED_DECIMAL
from forebay.serde.explained_decoding import decode_explained
from forebay.serde.framing import HEADER_BYTES, schema_id_of
from forebay.serde.plan import ReadPlan
from forebay.serde.recursive import check_bounds
from forebay.serde.resolution import skipping
from forebay.serde.resolver import SchemaResolver
from forebay.serde.schema import InvalidSchema, RecursiveSchema
from forebay.serde.varint import Malformed


class _Writer(NamedTuple):
    parsed: Any
    names: dict[str, Any]
    plan: ReadPlan | None
    """Plan for checking the bytes first. None: a type contains itself, and there are no plans for such types."""


class GenericDecoder:
    """A decoder of framed bytes to dicts, lists and scalars.

    Args:
        resolver: Resolver of the writers' schemas.
        plain: Whether dates and times stay whole numbers, as they are written.
        reader: Schema to which values are resolved, as a JSON document. None: the writer's schema.
    """

    def __init__(self, resolver: SchemaResolver, *, plain: bool = False, reader: Any = None) -> None:
        self._resolver = resolver
        self._plain = plain
        self._reader = None if reader is None else fastavro.parse_schema(self._prepare(reader), {})
        self._writers: dict[int, _Writer] = {}

    def decode(self, data: bytes) -> Any:
        """Return the value in framed bytes. Raise DecodeError or RegistryUnavailable."""
        schema_id = schema_id_of(data)
        name = f"not a record of schema {schema_id}"
        body = BytesIO(data)
        body.seek(HEADER_BYTES)
        try:
            writer = self._writer(schema_id)
            # Check the limits first, because fastavro has none. A small record can expand to millions of values.
            if writer.plan is None:
                check_bounds(data, writer.parsed, writer.names, name)
            else:
                decode_explained(data, writer.plan, f"{name}: value")
            value = fastavro.schemaless_reader(body, writer.parsed, self._reader)
        except (
            EOFError,
            InvalidSchema,
            LookupError,
            Malformed,
            OverflowError,
            RecursionError,
            TypeError,
            ValueError,
            fastavro.read.SchemaResolutionError,
            fastavro.schema.SchemaParseException,
        ) as error:
            raise DecodeError(f"{name}: {type(error).__name__} {error}".rstrip()) from error
        # Remaining bytes mean that the schema is not the writer's.
        left = len(data) - body.tell()
        if left:
            raise DecodeError(f"{name}: {left} trailing bytes")
        return value

    def _writer(self, schema_id: int) -> _Writer:
        if schema_id not in self._writers:
            schema = self._resolver.schema(schema_id)
            try:
                plan: ReadPlan | None = skipping(schema.type)
            except RecursiveSchema:
                plan = None
            document = json.loads(schema.text)
            names: dict[str, Any] = {}
            parsed = fastavro.parse_schema(self._prepare(document), names)
            self._writers[schema_id] = _Writer(parsed, names, plan)
        return self._writers[schema_id]

    def _prepare(self, document: Any) -> Any:
        return _bound_decimals(without_times(document) if self._plain else document)


def without_times(document: Any) -> Any:
    """Return a schema without its logical types, except for decimals."""
    if isinstance(document, list):
        return [without_times(item) for item in document]
    if not isinstance(document, dict):
        return document
    attributes = {
        name: without_times(attribute) for name, attribute in document.items() if name not in ("logicalType", "default")
    }
    if "default" in document:
        attributes["default"] = document["default"]
    if document.get("logicalType") == "decimal":
        attributes["logicalType"] = "decimal"
    return attributes


def _bound_decimals(document: Any) -> Any:
    """Return a schema whose decimals are checked before they are converted."""
    if isinstance(document, list):
        return [_bound_decimals(part) for part in document]
    if not isinstance(document, dict):
        return document
    bound = {name: value if name == "default" else _bound_decimals(value) for name, value in document.items()}
    return {**bound, "logicalType": BOUNDED_DECIMAL} if bound.get("logicalType") == "decimal" else bound
