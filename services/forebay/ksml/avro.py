"""Avro values as structs, with a record class created from the schema, so that contracts work as for any service."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import msgspec

from forebay.codec import Codec, EncodeError
from forebay.formats import Contracts, Format, no_contracts
from forebay.formats.identities import by_name
from forebay.ksml.logical_types import CHECKS, with_check
from forebay.ksml.parsing import boolean_of, float_of, text_of_scalar, whole_of
from forebay.ksml.types import Type, UnknownType
from forebay.records import FrozenMap
from forebay.records import Record as RecordBase
from forebay.serde.avro_types import (
    NO_DEFAULT,
    Array,
    AvroType,
    DecimalType,
    Enumeration,
    Fixed,
    Map,
    Primitive,
    Record,
    Union,
)
from forebay.serde.binding import PYTHON_TYPES
from forebay.serde.codec import AvroCodec
from forebay.serde.framing import HEADER_BYTES, header
from forebay.serde.key_formats import OneSchema
from forebay.serde.schema import InvalidSchema, RegisteredSchema, Schema


class _Way(NamedTuple):
    """The conversion of an Avro type's values between structs and records.

    Args:
        hint: the type in the record class.
        fits: returns whether a struct's value has this type.
    """

    hint: Any
    inward: Callable[[Any], Any]
    outward: Callable[[Any], Any]
    fits: Callable[[Any], bool]


class _StructCodec:
    """A codec of structs, which uses the codec of their record class."""

    def __init__(self, way: _Way, records: Codec[Any], schema: str) -> None:
        self._way = way
        self._named = {"@type": way.hint.__name__, "@schema": schema}
        self._records = records

    def encode(self, record: Any) -> bytes:
        try:
            values = self._way.inward(record)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise EncodeError(f"{record!r} does not fit the schema {self._way.hint.__name__}: {error}") from error
        return self._records.encode(values)

    def decode(self, data: bytes) -> Any:
        fields = self._way.outward(self._records.decode(data))
        # KSML gives functions the name and the schema of an Avro struct under these two names.
        fields.update(self._named)
        return fields


def avro_format(name: str, text: str, key_id: Callable[[], int] = lambda: 0) -> Format[Any]:
    """Return the format of a schema's values, and of keys, as structs.

    Args:
        key_id: returns the schema's id in the registry. It is a part of a key's bytes, and so determines its partition.

    Raises:
        UnknownType: the text is not a schema of records.
    """
    way = _way(record_of(name, text))

    def codec(contracts: Contracts, /) -> Codec[Any]:
        return of_keys() if contracts is no_contracts else _StructCodec(way, contracts(way.hint), text)

    @cache
    def of_keys() -> Codec[Any]:
        schema_id = key_id()
        registered = RegisteredSchema(schema_id, Schema(text))
        return _StructCodec(way, AvroCodec(way.hint, registered, OneSchema(schema_id)), text)

    def row(key: Any) -> str:
        # The row text leaves out the schema's id, so that rows sort by the key's own bytes.
        return of_keys().encode(key)[HEADER_BYTES:].decode("latin-1")

    def of_row(found: str) -> Any:
        return of_keys().decode(header(key_id()) + found.encode("latin-1"))

    # Identify the schema by its whole text: registries assign another id if its doc, the order of its attributes, or
    # (some of them) only its blanks differ. The id is a part of a key's bytes.
    return Format(f"avro {name}", object, codec, row, of_row, identify=lambda: by_name("AVRO", text))


def record_of(name: str, text: str) -> Record:
    """Return the record that a schema's text describes. Raises UnknownType."""
    try:
        kind = Schema(text).type
    except InvalidSchema as error:
        raise UnknownType(f"the schema {name}: {error}") from error
    if not isinstance(kind, Record):
        raise UnknownType(f"the schema {name} is not a record: write one with fields")
    return kind


def windowed_schema(key: Type, text: str) -> str:
    """Return the schema of windowed keys, as KSML creates it.

    Args:
        text: schema of the key, if it is a struct.
    """
    inner = json.loads(text) if key.kind == "struct" else key.kind
    name = record_of(key.name, text).name.rpartition(".")[2] if key.kind == "struct" else key.kind.capitalize()
    fields = {"start": "long", "end": "long", "startTime": "string", "endTime": "string", "key": inner}
    schema = {
        "type": "record",
        "name": f"Windowed{name}",
        "namespace": "io.axual.ksml.data",
        "fields": [{"name": field, "type": kind} for field, kind in fields.items()],
    }
    return json.dumps(schema)


def _way(kind: AvroType) -> _Way:
    match kind:
        case Primitive(name, logical):
            way = _primitive(name)
            return way if (name, logical) not in CHECKS else way._replace(inward=with_check(way.inward, name, logical))
        case Enumeration(symbols=symbols):
            return _Way(str, str, _same, lambda value: value in symbols)
        case Array(items):
            return _array(_way(items))
        case Map(values):
            return _map(_way(values))
        case Union(branches):
            return _union([_way(branch) for branch in branches])
        case Record():
            return _record(kind)
        case DecimalType():
            return _Way(Decimal, _decimal, lambda value: f"{value:f}", lambda value: isinstance(value, str | Decimal))
        case Fixed():
            raise UnknownType("fixed types are not supported in definitions: use bytes")


def _primitive(name: str) -> _Way:
    hint = PYTHON_TYPES[name]
    if name in ("float", "double"):
        return _Way(float, float_of, _same, lambda value: type(value) in (int, float))
    if name in ("int", "long"):
        return _Way(int, whole_of, _same, lambda value: type(value) is int)
    if name == "boolean":
        return _Way(bool, boolean_of, _same, lambda value: type(value) is bool)
    if name == "string":
        return _Way(str, text_of_scalar, _same, lambda value: type(value) is str)
    return _Way(hint, _same, _same, lambda value: type(value) is hint)


def _same(value: Any) -> Any:
    return value


def _decimal(value: Any) -> Decimal:
    """Return a decimal from its text. Functions receive decimals as text, so that no digit is lost."""
    if isinstance(value, float):
        raise TypeError(f"{value!r} is a float, which may have lost digits: return the decimal as text")
    try:
        return Decimal(value)
    except ArithmeticError as error:
        raise ValueError(f"{value!r} is not a decimal: specify text such as '123.45'") from error


def _array(items: _Way) -> _Way:
    return _Way(
        tuple[items.hint, ...],  # type: ignore[name-defined]
        lambda value: tuple([items.inward(item) for item in value]),
        lambda value: [items.outward(item) for item in value],
        lambda value: isinstance(value, list | tuple),
    )


def _map(values: _Way) -> _Way:
    return _Way(
        FrozenMap[str, values.hint],  # type: ignore[name-defined]
        lambda value: FrozenMap({name: values.inward(item) for name, item in value.items()}),
        lambda value: {name: values.outward(item) for name, item in value.items()},
        lambda value: isinstance(value, dict),
    )


def _union(branches: list[_Way]) -> _Way:
    def inward(value: Any) -> Any:
        for branch in branches:
            # Prefer an exact type to a conversion. Otherwise a union of string and int would convert every number to
            # text.
            if branch.fits(value):
                return branch.inward(value)
        # No branch has the value's type, so KSML converts it to the first branch that accepts it.
        for branch in branches:
            try:
                result = branch.inward(value)
            except (TypeError, ValueError, KeyError, AttributeError):
                continue
            if isinstance(result, _class_of(branch.hint)):
                return result
        raise TypeError(f"{value!r} is of no type of the union")

    def outward(value: Any) -> Any:
        for branch in branches:
            if isinstance(value, _class_of(branch.hint)):
                return branch.outward(value)
        return value

    hint: Any = branches[0].hint
    for branch in branches[1:]:
        hint = hint | branch.hint
    return _Way(hint, inward, outward, lambda value: any(branch.fits(value) for branch in branches))


def _class_of(hint: Any) -> type:
    if hint is None:
        return type(None)
    return hint if isinstance(hint, type) else hint.__origin__


def _record(kind: Record) -> _Way:
    ways = {field.name: _way(field.type) for field in kind.fields}
    optional = {field.name: field.default for field in kind.fields if field.default is not NO_DEFAULT}
    name = kind.name.rpartition(".")[2]
    record_class = msgspec.defstruct(
        name, [(field, way.hint) for field, way in ways.items()], bases=(RecordBase,), module=__name__
    )

    def inward(value: Any) -> Any:
        if not isinstance(value, dict):
            raise TypeError(f"{value!r} is not a struct")
        unknown = sorted(set(value) - ways.keys() - {"@type", "@schema"})
        if unknown:
            raise TypeError(f"{name} has no field {', '.join(unknown)}")
        return record_class(**{field: way.inward(_field(value, field, optional)) for field, way in ways.items()})

    def outward(value: Any) -> dict[str, Any]:
        return {field: way.outward(getattr(value, field)) for field, way in ways.items()}

    return _Way(record_class, inward, outward, lambda value: isinstance(value, dict))


def _field(value: dict[str, Any], field: str, optional: dict[str, Any]) -> Any:
    return value[field] if field in value else optional.get(field)
