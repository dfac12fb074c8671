"""Avro and Protobuf fields of another type than their column are read exactly, or the record goes to `.errors`."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError, EncodeError
from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects
from forebay.sql.catalog import Form, Named
from forebay.sql.schemas import json_schema, protobuf
from forebay.sql.schemas.topics import frame_schema
from forebay.sql.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    ArrayType,
    DecimalType,
    MapType,
    SqlType,
    StructType,
)

REFUSED: Any = object()
AVRO: dict[tuple[str, Any, SqlType], Any] = {
    ("int", 1, BIGINT): 1,
    ("long", 2**31, INT): REFUSED,
    ("double", 1.9, INT): REFUSED,
    ("double", 1.0, BIGINT): REFUSED,
    ("float", 1.5, TIMESTAMP): REFUSED,
    ("double", 1.5, DATE): REFUSED,
    ("int", 7, DOUBLE): 7.0,
    ("double", 1e7, STRING): "1.0E7",
    ("double", -0.0, DOUBLE): -0.0,
    ("boolean", True, STRING): "true",
    ("long", 5, STRING): "5",
    ("bytes", b"ab", STRING): REFUSED,
    ("string", "ab", BYTES): REFUSED,
}


@pytest.mark.parametrize(("kind", "value", "column"), AVRO)
def test_avro(kind: str, value: Any, column: SqlType, registry: LocalSubjects) -> None:
    written = {"type": "record", "name": "R", "fields": [{"name": "c", "type": kind}]}
    schema_id = registry.register("t-value", Schema(json.dumps(written)), "AVRO").schema_id
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(written), {"c": value})
    check("AVRO", header(schema_id) + out.getvalue(), column, AVRO[kind, value, column])


PROTOBUF: dict[tuple[str, Any, SqlType], Any] = {
    ("int64", 3, INT): 3,
    ("uint64", 2**63, BIGINT): REFUSED,
    ("double", 1.9, INT): REFUSED,
    ("float", 0.5, STRING): "0.5",
    ("double", 1e-4, STRING): "1.0E-4",
    ("double", -0.0, DOUBLE): -0.0,
    ("bytes", b"ab", STRING): REFUSED,
    ("string", "ab", BYTES): REFUSED,
}


@pytest.mark.parametrize(("kind", "value", "column"), PROTOBUF)
def test_protobuf(kind: str, value: Any, column: SqlType, registry: LocalSubjects) -> None:
    text = f'syntax = "proto3"; message R {{ {kind} c = 1; }}'
    schema_id = registry.register("t-value", Schema(text), "PROTOBUF").schema_id
    data = header(schema_id) + b"\0" + class_of(message_of(text, ""))(c=value).SerializeToString()
    check("PROTOBUF", data, column, PROTOBUF[kind, value, column])


@pytest.mark.parametrize("item", [INT, StructType((("A", INT),))])
def test_an_array_of_protobuf_holds_no_null_and_gets_no_other_value(item: SqlType, registry: LocalSubjects) -> None:
    codec = frame_schema("PROTOBUF", (Named("C", ArrayType(item)),), Form(), "t-value", "a.B", wraps=True)
    assert codec.decode(codec.encode(((),))) == ((),)
    with pytest.raises(EncodeError, match="a repeated field has no null, and C has one: filter the array's nulls"):
        codec.encode(((None,),))


def check(kind: str, data: bytes, column: SqlType, expected: Any) -> None:
    codec = frame_schema(kind, (Named("C", column), Named("GONE", INT)), Form(), "t-value", "a.B", wraps=True)
    if expected is REFUSED:
        with pytest.raises(DecodeError):
            codec.decode(data)
    else:
        assert repr(codec.decode(data)) == repr((expected, None))


def entries(value: dict[str, Any], key: str = "string", kind: Any = "array") -> dict[str, Any]:
    properties = {
        "key": {"oneOf": [{"type": "null"}, {"type": key, "connect.type": "int32"}], "connect.index": 0},
        "value": {"oneOf": [{"type": "null"}, value], "connect.index": 1},
    }
    return {"type": kind, "connect.type": "map", "items": {"type": "object", "properties": properties}}


NUMBER = {"type": "integer", "connect.type": "int32"}
MAP = entries(NUMBER)


def test_maps_of_a_json_schema_of_ksqldb_are_lists_of_entries(registry: LocalSubjects) -> None:
    text = json.dumps({"type": "object", "properties": {"M": {"oneOf": [{"type": "null"}, MAP]}}})
    kind = MapType(STRING, INT)
    assert json_schema.type_of(text) == StructType((("M", kind),))
    columns = (Named("M", kind),)
    given = frame_schema("JSON_SR", columns, Form(text=text, columns=columns), "t-value", "a.B", wraps=True)
    row = ({"a": 1, None: 2},)
    data = given.encode(row)
    assert data[5:] == b'{"M":[{"key":"a","value":1},{"key":null,"value":2}]}'
    own = frame_schema("JSON_SR", columns, Form(), "o-value", "a.B", wraps=True)
    assert own.encode(({"a": 1},))[5:] == b'{"M":{"a":1}}'
    assert given.decode(data) == own.decode(data) == row


OBJECT = {"type": "object", "connect.type": "map", "additionalProperties": NUMBER}
NUMBERS = MapType(STRING, INT)
MAPS: dict[str, tuple[dict[str, Any], SqlType, Any, bytes]] = {
    "that may be null": (entries(NUMBER, kind=["array", "null"]), NUMBERS, {"a": 1}, b'[{"key":"a","value":1}]'),
    "that are objects": (OBJECT, NUMBERS, {"a": 1}, b'{"a":1}'),
    "by reference": ({"$ref": "#/definitions/map"}, NUMBERS, {"a": 1}, b'[{"key":"a","value":1}]'),
    "of entries in an object": (
        {"type": "object", "connect.type": "map", "additionalProperties": MAP},
        MapType(STRING, NUMBERS),
        {"x": {"a": 1}},
        b'{"x":[{"key":"a","value":1}]}',
    ),
    "of an object in entries": (
        entries(OBJECT),
        MapType(STRING, NUMBERS),
        {"x": {"a": 1}},
        b'[{"key":"x","value":{"a":1}}]',
    ),
    "of entries in an array of structs": (
        {"type": "array", "items": {"type": "object", "properties": {"f": MAP}}},
        ArrayType(StructType((("f", NUMBERS),))),
        (({"a": 1},),),
        b'[{"f":[{"key":"a","value":1}]}]',
    ),
    "whose keys are not texts": (
        entries(NUMBER, key="integer"),
        ArrayType(StructType((("key", INT), ("value", INT)))),
        ((5, 1),),
        b'[{"key":5,"value":1}]',
    ),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("wraps", [True, False])
def test_each_map_of_a_json_schema_is_written_as_it_is_declared(
    name: str, wraps: bool, registry: LocalSubjects
) -> None:
    schema, kind, value, data = MAPS[name]
    row: tuple[Any, ...]
    more = {"definitions": {"map": MAP}}
    if wraps:
        # The other column's map must not decide how this one is written.
        text = json.dumps({"type": "object", "properties": {"M": schema, "O": OBJECT, "E": MAP}} | more)
        columns: tuple[Named, ...] = (Named("M", kind), Named("O", NUMBERS), Named("E", NUMBERS))
        assert json_schema.type_of(text) == StructType(tuple((column.name, column.type) for column in columns))
        row, data = (value, {"b": 2}, {"b": 2}), b'{"M":' + data + b',"O":{"b":2},"E":[{"key":"b","value":2}]}'
    else:
        text = json.dumps(schema | more)
        columns, row = (Named("M", kind),), (value,)
        assert json_schema.type_of(text) == kind
    codec = frame_schema("JSON_SR", columns, Form(text=text, columns=columns), "t-value", "a.B", wraps=wraps)
    assert codec.encode(row)[5:] == data
    assert codec.decode(codec.encode(row)) == row


def test_types_that_contain_themselves_are_left_out() -> None:
    node = {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "id": {"type": "integer"}}}
    assert json_schema.type_of(json.dumps(node)) == StructType((("id", BIGINT),))
    assert protobuf.type_of(message_of('syntax = "proto3"; message A { int64 id = 1; A a = 2; A b = 3; }')) == (
        StructType((("id", BIGINT),))
    )


def test_a_decimal_of_a_message_has_the_digits_that_its_field_declares() -> None:
    text = """syntax = "proto3"; import "confluent/type/decimal.proto"; import "confluent/meta.proto"; message A {
    confluent.type.Decimal a = 1; confluent.type.Decimal b = 2 [(confluent.field_meta) =
    { params: [ { value: "9", key: "precision" }, { value: "2", key: "scale" } ] }]; }"""
    assert protobuf.type_of(message_of(text)) == StructType((("b", DecimalType(9, 2)),))
