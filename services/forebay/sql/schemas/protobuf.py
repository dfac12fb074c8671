"""Protocol Buffers' schemas of columns, as ksqlDB registers them, their messages, and columns of messages."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from forebay.sql.catalog import Named
from forebay.sql.schemas.proto_text import WrongProto, file_of
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
_FILES = {
    "google/protobuf/timestamp.proto": (
        "package google.protobuf; message Timestamp { int64 seconds = 1; int32 nanos = 2; }"
    ),
    "google/type/date.proto": "package google.type; message Date { int32 year = 1; int32 month = 2; int32 day = 3; }",
    "google/type/timeofday.proto": (
        "package google.type; "
        "message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }"
    ),
    "confluent/type/decimal.proto": (
        "package confluent.type; message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }"
    ),
    "confluent/meta.proto": "package confluent;",
    "google/protobuf/wrappers.proto": "package google.protobuf; "
    + " ".join(
        f"message {name.capitalize() if name[0] != 'u' else 'UI' + name[2:]}Value {{ {name} value = 1; }}"
        for name in ("double", "float", "int64", "uint64", "int32", "uint32", "bool", "string", "bytes")
    ),
}
"""Files that any schema may import, as far as fields matter."""
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
        nullable: how a scalar says that it is null: OPTIONAL, WRAPPER; "": not at all.

    Raises:
        TypeError: a message can't hold a column.
    """
    writing = _Writing(nullable)
    writing.message(MESSAGE, [(each.name, each.type) for each in columns], "")
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
        for number, (field, kind) in enumerate(fields, 1):
            self.lines.append(f"{inside}{self._field(kind, inside)} {field} = {number};")
        self.lines.append(f"{indent}}}")

    def _field(self, kind: SqlType, indent: str) -> str:
        match kind:
            case ArrayType(item):
                if isinstance(item, ArrayType | MapType):
                    raise TypeError(f"PROTOBUF has no {kind}: put the inner {item} into a STRUCT, or write JSON_SR")
                return f"repeated {self._named(item, indent)}"
            case MapType(_, value):
                if isinstance(value, ArrayType | MapType):
                    raise TypeError(f"PROTOBUF has no {kind}: put the inner {value} into a STRUCT, or write JSON_SR")
                return f"map<string, {self._named(value, indent)}>"
        if kind in _SCALARS and self._nullable == "OPTIONAL":
            return f"optional {_SCALARS[kind]}"
        if kind in _SCALARS and self._nullable == "WRAPPER":
            return self._imported(_WRAPPERS[kind])
        return self._named(kind, indent)

    def _named(self, kind: SqlType, indent: str) -> str:
        if isinstance(kind, StructType):
            self._messages += 1
            name = f"ConnectDefault{self._messages}"
            self.message(name, list(kind.fields), indent)
            return name
        if isinstance(kind, DecimalType):
            return self._imported(DECIMAL)
        found = next((name for name, each in TIMES.items() if each == kind), None)
        return _SCALARS[kind] if found is None else self._imported(found)

    def _imported(self, name: str) -> str:
        self.imports.add(_IMPORTS[name])
        return name


@lru_cache(1024)
def messages_of(text: str) -> tuple[Descriptor, ...]:
    """Return the messages that a schema's file defines itself, in order. Raises WrongProto."""
    pool = descriptor_pool.DescriptorPool()
    for name, content in _FILES.items():
        pool.Add(file_of(f'syntax = "proto3"; {content}', name))
    made = file_of(text, "schema.proto")
    unknown = [name for name in made.dependency if name not in _FILES]
    if unknown:
        raise WrongProto(f"the schema imports {', '.join(unknown)}: write its messages into the schema itself")
    try:
        pool.Add(made)
        found = pool.FindFileByName("schema.proto").message_types_by_name.values()
    except (TypeError, KeyError) as error:
        raise WrongProto(f"the schema does not hold together: {error}") from error
    return tuple(sorted(found, key=lambda each: [m.name for m in made.message_type].index(each.name)))


def message_of(text: str, name: str = "") -> Descriptor:
    """Return the message of a name, full or not; the first without one. Raises WrongProto."""
    found = messages_of(text)
    for each in found:
        if name in ("", each.name, each.full_name):
            return each
    names = ", ".join(each.full_name for each in found) or "none"
    raise WrongProto(f"the schema has no message {name}: it has {names}")


def class_of(message: Descriptor) -> Any:
    """Return the class of a message."""
    return message_factory.GetMessageClass(message)


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


def type_of(message: Descriptor, within: tuple[str, ...] = ()) -> SqlType | None:
    """Return the type of a message; None: it contains itself, or is a decimal, whose digits no schema says."""
    name = message.full_name
    if name in TIMES:
        return TIMES[name]
    if name in within or name == DECIMAL:
        return None
    if is_wrapper(message):
        return _single(message.fields[0], within)
    fields = [(each.name, _of_field(each, (*within, name))) for each in message.fields]
    return StructType(tuple((field, kind) for field, kind in fields if kind is not None))


def is_wrapper(message: Descriptor) -> bool:
    """Tell whether a message stands for a scalar that may be null."""
    return str(message.file.name) == "google/protobuf/wrappers.proto"


def is_map(field: FieldDescriptor) -> bool:
    """Tell whether a field is a map."""
    return field.message_type is not None and bool(field.message_type.GetOptions().map_entry)


def _of_field(field: FieldDescriptor, within: tuple[str, ...]) -> SqlType | None:
    if is_map(field):
        value = _single(field.message_type.fields_by_name["value"], within)
        return None if value is None else MapType(STRING, value)
    kind = _single(field, within)
    return ArrayType(kind) if field.is_repeated and kind is not None else kind


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> SqlType | None:
    if field.message_type is not None:
        return type_of(field.message_type, within)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return BYTES
    return _READ.get(field.cpp_type, STRING)
