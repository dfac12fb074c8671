"""Avro schemas, parsed from text and checked."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import fastavro.schema

from forebay.serde.avro_types import (
    NO_DEFAULT,
    Array,
    AvroType,
    DecimalType,
    Enumeration,
    Field,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
)
from forebay.serde.limits import MAX_DEPTH, MAX_PRECISION, MAX_SCHEMA_CHARACTERS, MAX_TYPES

_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_PARSE_ERRORS = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    RecursionError,
    fastavro.schema.SchemaParseException,
)


class InvalidSchema(Exception):
    """The text is not an Avro schema, or Forebay does not support the schema. The message says why."""


class RecursiveSchema(InvalidSchema):
    """A type of the schema contains itself."""


@dataclass(frozen=True)
class Schema:
    """An Avro schema. Two schemas are equal if their texts are equal.

    Their `canonical` texts are equal if the same bytes have the same meaning, except for decimals. Decimals are read as
    Decimal. Other logical types are ignored, so a timestamp-millis is a long.
    """

    text: str

    @cached_property
    def type(self) -> AvroType:
        """The parsed schema. Raises InvalidSchema."""
        # Check the length first, so that producers that may register schemas can't fill the memory of each worker.
        if len(self.text) > MAX_SCHEMA_CHARACTERS:
            raise InvalidSchema(f"its text of {len(self.text)} characters is longer than {MAX_SCHEMA_CHARACTERS}")
        try:
            document = json.loads(self.text)
            if isinstance(document, str) and document in _PRIMITIVES:
                return Primitive(document)
            built = _Builder().build(fastavro.parse_schema(document))
            _check_size(built)
        except _PARSE_ERRORS as error:
            raise InvalidSchema(f"not an Avro schema: {type(error).__name__}: {error}") from error
        return built

    @cached_property
    def canonical(self) -> str:
        """Avro's parsing canonical form, without docs, defaults and aliases. Raises InvalidSchema."""
        try:
            return fastavro.schema.to_parsing_canonical_form(json.loads(self.text))
        except _PARSE_ERRORS as error:
            raise InvalidSchema(f"not an Avro schema: {type(error).__name__}: {error}") from error

    @property
    def name(self) -> str:
        """Full name of the record, or the kind of a schema without a name. Raises InvalidSchema."""
        return getattr(self.type, "name", type(self.type).__name__.lower())


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema and its id."""

    schema_id: int
    schema: Schema


class _Builder:
    """Converter of fastavro's parsed form, which has full names, to a tree."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType | None] = {}

    def build(self, parsed: Any) -> AvroType:
        if isinstance(parsed, list):
            return Union(tuple(self.build(branch) for branch in parsed))
        if isinstance(parsed, str):
            return Primitive(parsed) if parsed in _PRIMITIVES else self._reference(parsed)
        kind = parsed["type"]
        decimal = _decimal(parsed)
        if decimal is not None:
            return decimal if decimal.size is None else self._define(decimal)
        if kind == "array":
            return Array(self.build(parsed["items"]))
        if kind == "map":
            return Map(self.build(parsed["values"]))
        if kind in ("record", "error"):
            return self._record(parsed)
        if kind == "enum":
            return self._define(Enumeration(parsed["name"], tuple(parsed["symbols"]), parsed.get("default")))
        if kind == "fixed":
            return self._define(Fixed(parsed["name"], _size(parsed)))
        if kind in _PRIMITIVES:
            return Primitive(kind, parsed.get("logicalType") or "")
        return self.build(kind)

    def _record(self, parsed: dict[str, Any]) -> Record:
        # None marks the type as incomplete. A reference to it from its own fields is a recursion.
        self._named[parsed["name"]] = None
        fields = tuple(
            Field(
                field["name"],
                self.build(field["type"]),
                field.get("default", NO_DEFAULT),
                tuple(field.get("aliases", ())),
            )
            for field in parsed["fields"]
        )
        record = Record(parsed["name"], fields, tuple(parsed.get("aliases", ())))
        self._define(record)
        return record

    def _define(self, avro: Enumeration | Fixed | DecimalType | Record) -> AvroType:
        self._named[avro.name] = avro
        return avro

    def _reference(self, name: str) -> AvroType:
        avro = self._named[name]
        if avro is None:
            raise RecursiveSchema(f"the type {name} contains itself; recursive schemas are not supported")
        return avro


def _check_size(built: AvroType) -> None:
    """Refuse a type too large to walk. Raises InvalidSchema."""
    types, depth = _extent(built, {})
    if depth > MAX_DEPTH:
        raise InvalidSchema(f"its types are nested too deeply: {depth} levels, at most {MAX_DEPTH} are supported")
    if types > MAX_TYPES:
        raise InvalidSchema(
            f"it expands to {types} types, counting a named one wherever it is used; at most {MAX_TYPES} are supported"
        )


def _extent(avro: AvroType, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Return the number of types to which a type expands, and their depth. Each type is visited only once."""
    extent = known.get(id(avro))
    if extent is None:
        parts = [_extent(part, known) for part in _parts(avro)]
        extent = known[id(avro)] = (
            1 + sum(types for types, _ in parts),
            1 + max((depth for _, depth in parts), default=0),
        )
    return extent


def _parts(avro: AvroType) -> Iterable[AvroType]:
    match avro:
        case Array(part) | Map(part):
            return (part,)
        case Union(branches):
            return branches
        case Record(fields=fields):
            return (field.type for field in fields)
    return ()


def _size(parsed: dict[str, Any]) -> int:
    size = parsed["size"]
    if not isinstance(size, int) or size < 0:
        raise InvalidSchema(f"the size of {parsed['name']} is not a number of bytes: {size!r}")
    return size


def _decimal(parsed: dict[str, Any]) -> DecimalType | None:
    """Return the decimal type of bytes or a fixed type, or None if it is no decimal or has no valid precision."""
    kind, precision, scale = parsed["type"], parsed.get("precision"), parsed.get("scale", 0)
    if kind not in ("bytes", "fixed") or parsed.get("logicalType") != "decimal":
        return None
    if not (isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0):
        return None
    if precision > MAX_PRECISION:
        raise InvalidSchema(f"a decimal of {precision} digits is beyond the {MAX_PRECISION} supported")
    if kind == "bytes":
        return DecimalType(precision, scale)
    return DecimalType(precision, scale, _size(parsed), parsed["name"])
