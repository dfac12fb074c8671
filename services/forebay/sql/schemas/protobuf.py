"""Conversion of columns to Protocol Buffers schemas in the form that ksqlDB registers, and of messages to columns."""

from __future__ import annotations

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from forebay.serde.proto_messages import META_FILE, decimal_digits, decimal_option
from forebay.sql.catalog import Named
from forebay.sql.schemas.nesting import Nesting
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

_SCALARS: dict[SqlType, str] = {
    INT: "int32",
    BIGINT: "int64",
    DOUBLE: "double",
    BOOLEAN: "bool",
    STRING: "string",
    BYTES: "bytes",
}
_WRAPPERS: dict[SqlType, str] = {
    INT: "google.protobuf.Int32Value",
    BIGINT: "google.protobuf.Int64Value",
    DOUBLE: "google.protobuf.DoubleValue",
    BOOLEAN: "google.protobuf.BoolValue",
    STRING: "google.protobuf.StringValue",
    BYTES: "google.protobuf.BytesValue",
}
TIMES: dict[str, SqlType] = {
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.type.Date": DATE,
    "google.type.TimeOfDay": TIME,
}
DECIMAL = "confluent.type.Decimal"
_IMPORTS = {
    **dict.fromkeys(_WRAPPERS.values(), "google/protobuf/wrappers.proto"),
    "google.protobuf.Timestamp": "google/protobuf/timestamp.proto",
    "google.type.Date": "google/type/date.proto",
    "google.type.TimeOfDay": "google/type/timeofday.proto",
    DECIMAL: "confluent/type/decimal.proto",
}
MESSAGE = "ConnectDefault1"


def schema_of(columns: tuple[Named, ...], nullable: str) -> str:
    """Return the schema of rows as text.

    Args:
        columns: The columns.
        nullable: Representation of a null scalar: OPTIONAL, WRAPPER, or "" if null is not possible.

    Raises:
        TypeError: A message can't contain a column.
    """
    writing = _Writing(nullable)
    writing.message(MESSAGE, [(column.name, column.type) for column in columns], "")
    imports = [f'import "{name}";' for name in sorted(writing.imports)]
    head = ['syntax = "proto3";', "", *imports, *([""] if imports else [])]
    return "\n".join([*head, *writing.lines]) + "\n"


class _Writing:
    def __init__(self, nullable: str) -> None:
        self.lines: list[str] = []
        self.imports: set[str] = set()
        self._nullable = nullable
        self._messages = 1

    def message(self, name: str, fields: list[tuple[str, SqlType]], indent: str) -> None:
        self.lines.append(f"{indent}message {name} {{")
        inside = indent + "  "
        # Field numbers follow the order of the columns. A column added at the end therefore keeps the numbers of the
        # others.
        for number, (field, kind) in enumerate(fields, 1):
            self.lines.append(f"{inside}{self._field(kind, inside)} {field} = {number}{self._option(kind)};")
        self.lines.append(f"{indent}}}")

    def _option(self, kind: SqlType) -> str:
        """Return the option of a field that declares the digits of a decimal, which readers need."""
        single = kind.item if isinstance(kind, ArrayType) else kind
        if not isinstance(single, DecimalType):
            return ""
        self.imports.add(META_FILE)
        return decimal_option(single.precision, single.scale)

    def _field(self, kind: SqlType, indent: str) -> str:
        match kind:
            case ArrayType(item):
                if isinstance(item, ArrayType | MapType):
                    raise TypeError(f"PROTOBUF has no {kind}: put the inner {item} into a STRUCT, or write JSON_SR")
                return f"repeated {self._type_name(item, indent)}"
            case MapType(_, value):
                if isinstance(value, ArrayType | MapType):
                    raise TypeError(f"PROTOBUF has no {kind}: put the inner {value} into a STRUCT, or write JSON_SR")
                self._messages += 1
                name = f"ConnectDefault{self._messages}Entry"
                self.message(name, [("key", STRING), ("value", value)], indent)
                return f"repeated {name}"
        if kind in _SCALARS and self._nullable == "OPTIONAL":
            return f"optional {_SCALARS[kind]}"
        if kind in _SCALARS and self._nullable == "WRAPPER":
            return self._import_file(_WRAPPERS[kind])
        return self._type_name(kind, indent)

    def _type_name(self, kind: SqlType, indent: str) -> str:
        if isinstance(kind, StructType):
            self._messages += 1
            name = f"ConnectDefault{self._messages}"
            self.message(name, list(kind.fields), indent)
            return name
        if isinstance(kind, DecimalType):
            return self._import_file(DECIMAL)
        result = next((name for name, item in TIMES.items() if item == kind), None)
        return _SCALARS[kind] if result is None else self._import_file(result)

    def _import_file(self, name: str) -> str:
        self.imports.add(_IMPORTS[name])
        return name


_READ = {
    FieldDescriptor.CPPTYPE_INT32: INT,
    FieldDescriptor.CPPTYPE_INT64: BIGINT,
    FieldDescriptor.CPPTYPE_UINT32: BIGINT,
    FieldDescriptor.CPPTYPE_UINT64: BIGINT,
    FieldDescriptor.CPPTYPE_DOUBLE: DOUBLE,
    FieldDescriptor.CPPTYPE_FLOAT: DOUBLE,
    FieldDescriptor.CPPTYPE_BOOL: BOOLEAN,
    FieldDescriptor.CPPTYPE_ENUM: STRING,
}


def type_of(message: Descriptor) -> SqlType | None:
    """Return the SQL type of a message, or None for a decimal without declared digits. Raises TooManyFields."""
    return _sql(message, Nesting())


def _sql(message: Descriptor, nesting: Nesting) -> SqlType | None:
    name = message.full_name
    if name in TIMES:
        return TIMES[name]
    if name == DECIMAL:
        return None
    if is_wrapper(message):
        return _single(message.fields[0], nesting)
    fields = message.fields
    return nesting.type_of(name, lambda: nesting.struct((field.name, _of_field(field, nesting)) for field in fields))


def is_wrapper(message: Descriptor) -> bool:
    """Return whether a message wraps a scalar that may be null."""
    return str(message.file.name) == "google/protobuf/wrappers.proto"


def is_map(field: FieldDescriptor) -> bool:
    """Return whether a field is a map, or a repeated message of key and value, as which ksqlDB declares maps."""
    message = field.message_type
    if message is None or message.GetOptions().map_entry:
        return message is not None
    names = [field.name for field in message.fields]
    return bool(field.is_repeated and message.name.endswith("Entry") and names == ["key", "value"])


def is_declared_map(field: FieldDescriptor) -> bool:
    """Return whether a field is declared as a map."""
    return bool(field.message_type.GetOptions().map_entry)


def _of_field(field: FieldDescriptor, nesting: Nesting) -> SqlType | None:
    if is_map(field):
        value = _single(field.message_type.fields_by_name["value"], nesting)
        return None if value is None else MapType(STRING, value)
    kind = _single(field, nesting)
    return ArrayType(kind) if field.is_repeated and kind is not None else kind


def _single(field: FieldDescriptor, nesting: Nesting) -> SqlType | None:
    if field.message_type is not None:
        digits = decimal_digits(field) if field.message_type.full_name == DECIMAL else None
        return _sql(field.message_type, nesting) if digits is None else DecimalType(*digits)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return BYTES
    return _READ.get(field.cpp_type, STRING)
