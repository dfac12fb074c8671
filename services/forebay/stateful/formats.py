"""Formats of state values and of map keys, by the schemas that a StatefulProcessor declares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from pyspark.sql.types import ArrayType, DataType, DecimalType, DoubleType, FloatType, MapType, StringType, StructType

from forebay.codec import DecodeError
from forebay.formats import Format
from forebay.formats.identities import Identity, by_place, by_typed_name
from forebay.stateful.columns import Column, column_of, or_null, order_values
from forebay.stateful.ddl import SchemaError, schema_of

_OWN_NAMES = {"int": "integer", "float": "real"}
"""Recorded names of the Spark types whose own names also are names of Kafka formats, which differ from them."""


class StateCodec:
    """Codec of a state variable's rows, which are MessagePack maps by column name.

    Columns can therefore be added, removed, reordered and widened, as in Spark with Avro-encoded state.
    """

    def __init__(self, schema: StructType, where: str) -> None:
        names = schema.names
        if len(set(names)) != len(names) or not names:
            raise SchemaError(
                f"{where}: the schema needs columns with different names, not {', '.join(names) or 'none'}"
            )
        columns = _columns(schema, where)
        self.is_frozen = all(column.is_frozen for column in columns)
        self._where, self._names = where, names
        self._checks = tuple(column.check for column in columns)
        self._stores = _converters(column.store for column in columns)
        self._loads = _converters(column.load for column in columns)
        self._required = [at for at, field in enumerate(schema.fields) if not field.nullable]
        # The struct's fields have numbered names, because a column's name need not be a valid Python identifier.
        fields = [f"column{number}" for number in range(len(names))]
        self._stored: Any = msgspec.defstruct(
            "Columns", [(field, Any, None) for field in fields], rename=dict(zip(fields, names, strict=True))
        )
        self._encoder, self._decoder = msgspec.msgpack.Encoder(), msgspec.msgpack.Decoder(self._stored)

    def canonical(self, value: Any) -> tuple[Any, ...]:
        """Return the tuple that a later read returns. Raises EncodeError if the value does not fit the schema."""
        values = value if value.__class__ is tuple else order_values(value, self._names, self._where)
        if len(values) != len(self._checks):
            values = order_values(values, self._names, self._where)
        return tuple([check(item) for check, item in zip(self._checks, values, strict=True)])

    def encode(self, record: Any) -> bytes:
        values = record if self.is_frozen else self.canonical(record)
        if self._stores is not None:
            values = [store(item) for store, item in zip(self._stores, values, strict=True)]
        return self._encoder.encode(self._stored(*values))

    def decode(self, data: bytes) -> tuple[Any, ...]:
        try:
            values: Any = msgspec.structs.astuple(self._decoder.decode(data))
            if self._loads is not None:
                values = tuple([load(item) for load, item in zip(self._loads, values, strict=True)])
        except (msgspec.DecodeError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            raise DecodeError(f"{self._where}: {len(data)} bytes are not a row of its schema: {error}") from error
        for at in self._required:
            if values[at] is None:
                raise DecodeError(f"{self._where}: the row has no {self._names[at]}, which is NOT NULL: let it be null")
        return values  # type: ignore[no-any-return]


class MapKeys:
    """Encoder of a map state's keys as JSON text."""

    def __init__(self, schema: StructType, where: str) -> None:
        self._schema, self._names, self._where = schema, schema.names, where
        self._columns = _columns(schema, where)
        if not all(column.is_frozen for column in self._columns) or any(
            field.dataType.typeName() in ("binary", "struct") for field in schema.fields
        ):
            raise SchemaError(f"{where}: a map's key takes strings, numbers, booleans, dates and times")

    @property
    def identity(self) -> Identity:
        """The identity of the encoding, which stores record. Names of columns are not part of it."""
        # A key is looked up by its text, and 1 and 1.0 are different texts. A whole number can therefore become a wider
        # whole number, but not a fraction.
        kinds = {field.name: field.dataType for field in self._schema.fields}
        return by_place(
            "map key",
            [
                (name, ["fraction", kind] if isinstance(kinds[name], (FloatType, DoubleType)) else kind)
                for name, kind in _typed_names(self._schema)
            ],
        )

    def text_of(self, key: Any) -> bytes:
        """Return the bytes of a key. Raises EncodeError."""
        values = order_values(key, self._names, self._where)
        checked = [column.check(item) for column, item in zip(self._columns, values, strict=True)]
        return msgspec.json.encode(
            [
                item if column.store is None else column.store(item)
                for column, item in zip(self._columns, checked, strict=True)
            ]
        )

    def key_of(self, text: bytes) -> tuple[Any, ...]:
        """Return the key from its bytes."""
        values = msgspec.json.decode(text)
        return tuple(
            item if column.load is None else column.load(item)
            for column, item in zip(self._columns, values, strict=True)
        )


def state_format(schema: StructType | str, where: str) -> Format[Any]:
    """Return the format of a state variable's rows. Raises SchemaError."""
    parsed = schema_of(schema)
    codec = StateCodec(parsed, where)
    return Format(
        f"state of {parsed.simpleString()}",
        tuple,
        lambda _: codec,
        identify=lambda: by_typed_name("state", _typed_names(parsed)),
    )


def map_keys(schema: StructType | str, where: str) -> MapKeys:
    """Return the encoder of a map state's keys. Raises SchemaError."""
    return MapKeys(schema_of(schema), where)


def _typed_names(schema: StructType) -> list[tuple[str, Identity]]:
    return [(field.name, _type_identity(field.dataType)) for field in schema.fields]


def _type_identity(kind: DataType) -> Identity:
    """Return the recorded identity of a type.

    It does not include a decimal's precision, because its digits are stored as text.
    """
    if isinstance(kind, StructType):
        return by_typed_name("struct", _typed_names(kind))
    if isinstance(kind, ArrayType):
        return ["array", _type_identity(kind.elementType)]
    if isinstance(kind, MapType):
        return ["map", _type_identity(kind.keyType), _type_identity(kind.valueType)]
    if isinstance(kind, DecimalType):
        return ["decimal", f"scale {kind.scale}"]
    return "string" if isinstance(kind, StringType) else _OWN_NAMES.get(kind.simpleString(), kind.simpleString())


def _columns(schema: StructType, where: str) -> list[Column]:
    return [
        or_null(column_of(field.dataType, f"{where}.{field.name}"), field.nullable, f"{where}.{field.name}")
        for field in schema.fields
    ]


def _converters(converters: Any) -> tuple[Callable[[Any], Any], ...] | None:
    """Return a converter for each column, or None if no column needs a converter."""
    given = tuple(converters)
    return None if not any(given) else tuple(convert or (lambda value: value) for convert in given)
