"""Types of registered schemas, and their values, are converted to those of Spark."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BinaryType, DoubleType, StructType

from forebay.codec import DecodeError
from forebay.serde.proto_messages import class_of, message_of
from forebay.spark.avro_columns import avro_column
from forebay.spark.columns import Column
from forebay.spark.decoding import Decoding
from forebay.spark.errors import SchemaNotSupported
from forebay.spark.json_columns import json_column, json_reader
from forebay.spark.protobuf_columns import ProtobufDecoder, protobuf_column, protobuf_reader

LONG_DECIMAL = Decimal("-12345678901234567890.123456789012345678")
CONNECT_DECIMAL = {
    "type": "number",
    "title": "org.apache.kafka.connect.data.Decimal",
    "connect.parameters": {"scale": "18", "connect.decimal.precision": "38"},
}


def in_arrow(column: Column, value: Any) -> Any:
    """Return a value after its conversion through Arrow, as Spark would show it."""
    converted = value if column.convert is None else column.convert(value)
    return pa.array([converted], to_arrow_type(column.kind, timezone="UTC"))[0].as_py()


@pytest.mark.parametrize(
    ("schema", "kind", "value", "shown"),
    [
        ("boolean", "boolean", True, "True"),
        ("int", "int", -1, "-1"),
        ("long", "bigint", 2**62, str(2**62)),
        ("float", "float", 0.5, "0.5"),
        ("double", "double", 0.1, "0.1"),
        ("string", "string", "ä", "ä"),
        ("bytes", "binary", b"\0\xff", str(b"\0\xff")),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "string", "A", "A"),
        ({"type": "fixed", "name": "F", "size": 2}, "binary", b"ab", str(b"ab")),
        ({"type": "int", "logicalType": "date"}, "date", -1, "1969-12-31"),
        ({"type": "int", "logicalType": "time-millis"}, "time(6)", 1_001, "00:00:01.001000"),
        ({"type": "long", "logicalType": "time-micros"}, "time(6)", 1, "00:00:00.000001"),
        ({"type": "long", "logicalType": "timestamp-millis"}, "timestamp", -1, "1969-12-31 23:59:59.999000+00:00"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "timestamp", 1, "1970-01-01 00:00:00.000001+00:00"),
        ({"type": "long", "logicalType": "local-timestamp-millis"}, "timestamp_ntz", 1, "1970-01-01 00:00:00.001000"),
        ({"type": "string", "logicalType": "uuid"}, "string", "x", "x"),
        ({"type": "long", "logicalType": "timestamp-nanos"}, "bigint", 1, "1"),
        (["null", "long"], "bigint", 3, "3"),
        (["int", "long"], "bigint", 3, "3"),
        ({"type": "array", "items": ["null", "int"]}, "array<int>", [1, None], "[1, None]"),
        ({"type": "map", "values": "int"}, "map<string,int>", {"a": 1}, "[('a', 1)]"),
    ],
)
def test_avro_types(schema: Any, kind: str, value: Any, shown: str) -> None:
    column = avro_column(json.dumps(schema))
    assert column.kind.simpleString() == kind
    assert str(in_arrow(column, value)) == shown


def test_avro_decimals_also_as_defaults() -> None:
    column = avro_column(json.dumps({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}))
    assert in_arrow(column, Decimal("-1.20")) == Decimal("-1.20")
    assert in_arrow(column, "\xff") == Decimal("-0.01")


def test_no_digit_of_a_long_decimal_is_lost() -> None:
    unscaled = int(LONG_DECIMAL.scaleb(18, Context(prec=38))).to_bytes(16, "big", signed=True)
    column = avro_column(json.dumps({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18}))
    assert in_arrow(column, unscaled.decode("latin-1")) == LONG_DECIMAL
    text = 'syntax = "proto3"; import "confluent/type/decimal.proto"; message A { confluent.type.Decimal d = 1; }'
    message = class_of(message_of(text, ""))()
    message.d.value, message.d.scale = unscaled, 18
    assert in_arrow(protobuf_column(text), message) == {"d": LONG_DECIMAL}
    message.d.value = (10**38).to_bytes(17, "big")
    with pytest.raises(DecodeError, match="more than 38 digits"):
        in_arrow(protobuf_column(text), message)


@pytest.mark.parametrize("more", [{}, {"precision": 0}, {"precision": 2, "scale": 3}, {"precision": "9"}])
def test_an_avro_decimal_that_is_not_valid_is_its_bytes(more: Any) -> None:
    assert avro_column(json.dumps({"type": "bytes", "logicalType": "decimal", **more})).kind == BinaryType()


def test_avro_records_nest_and_share_named_types() -> None:
    point = {"type": "record", "name": "Point", "namespace": "n", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "a", "type": point}, {"name": "b", "type": ["null", "n.Point"]}]
    column = avro_column(json.dumps({"type": "record", "name": "Line", "namespace": "n", "fields": fields}))
    assert column.kind.simpleString() == "struct<a:struct<x:int>,b:struct<x:int>>"
    assert in_arrow(column, {"a": {"x": 1}, "b": None}) == {"a": {"x": 1}, "b": None}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (["int", "string"], "value is a union of 2 types"),
        (
            {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]},
            "value.next has the recursive type N",
        ),
    ],
)
def test_avro_that_spark_cannot_express_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaNotSupported, match=message):
        avro_column(json.dumps(schema))


@pytest.mark.parametrize(
    ("schema", "kind", "text", "shown"),
    [
        ({"type": "integer"}, "bigint", "3.0", 3),
        ({"type": "integer", "connect.type": "int16"}, "smallint", "3", 3),
        ({"type": "number"}, "double", "3", 3.0),
        ({"type": ["null", "string"]}, "string", '"a"', "a"),
        ({"oneOf": [{"type": "null"}, {"type": "boolean"}]}, "boolean", "true", True),
        ({"type": "string", "contentEncoding": "base64"}, "binary", '"AP8="', b"\0\xff"),
        ({"type": "array", "items": {"type": "integer"}}, "array<bigint>", "[1]", [1]),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>", '{"a":1}', [("a", 1)]),
        ({"type": ["integer", "string"]}, "string", "[1]", "[1]"),
        ({}, "string", '{"a": "\u00e4"}', '{"a":"\u00e4"}'),
        (
            {},
            "string",
            "[1.10, 0.1234567890123456789, 18446744073709551617]",
            "[1.10,0.1234567890123456789,18446744073709551617]",
        ),
        (CONNECT_DECIMAL, "decimal(38,18)", str(LONG_DECIMAL), LONG_DECIMAL),
        (CONNECT_DECIMAL, "decimal(38,18)", "-7", Decimal(-7)),
        ({"type": ["integer", "null"], "default": {}}, "bigint", "2.0", 2),
    ],
)
def test_json_schema_types(schema: Any, kind: str, text: str, shown: Any) -> None:
    column = json_column(json.dumps(schema))
    assert column.kind.simpleString() == kind
    assert in_arrow(column, json_reader(json.dumps(schema))(text.encode())) == shown


@pytest.mark.parametrize("parameters", [{"scale": 2}, {"scale": None}, None, {}])
def test_parameters_of_a_connect_decimal_need_not_be_texts(parameters: Any) -> None:
    schema = {**CONNECT_DECIMAL, "connect.parameters": parameters}
    kind = "decimal(38,2)" if parameters == {"scale": 2} else "double"
    assert json_column(json.dumps(schema)).kind.simpleString() == kind


DEFAULTS = {
    "type": "object",
    "required": ["a", "c", "d"],
    "properties": {
        "a": {"type": "integer", "default": 7},
        "b": {"type": ["null", "string"], "default": "x"},
        "c": {**CONNECT_DECIMAL, "default": 0.1234567890123456789},
        "d": {"$ref": "#/definitions/D"},
        "e": {"type": "integer"},
        "f": {"type": "integer", "default": "seven"},
    },
    "definitions": {"D": {"type": "object", "default": {}, "properties": {"g": {"type": "boolean", "default": True}}}},
}


@pytest.mark.parametrize(
    ("schema", "default"),
    [
        ({"type": "integer"}, "seven"),
        ({"type": "integer"}, 2**70),
        ({"type": "integer", "title": "org.apache.kafka.connect.data.Date"}, "2026-01-01"),
        ({"type": "string"}, 7),
        ({"type": "array", "items": {"type": "boolean"}}, [1]),
        ({"type": "object", "properties": {"x": {"type": "integer"}}}, {"x": "y"}),
        (CONNECT_DECIMAL, "1.0"),
    ],
)
def test_json_default_that_does_not_fit_its_column_is_null(schema: Any, default: Any) -> None:
    properties = {"a": {**schema, "default": default}, "b": {"type": "integer"}}
    text = json.dumps({"type": "object", "properties": properties})
    assert in_arrow(json_column(text), json_reader(text)(b'{"b": 1}')) == {"a": None, "b": 1}


def test_a_missing_json_property_has_its_default_and_null_stays_null() -> None:
    text = json.dumps(DEFAULTS).replace("0.12345678901234568", "0.123456789012345678")
    column = json_column(text)
    read = json_reader(text)
    whole = {"a": 7, "b": "x", "c": Decimal("0.123456789012345678"), "d": {"g": True}, "e": None, "f": 1}
    assert in_arrow(column, read(b'{"f": 1}')) == whole
    given = {"a": 1, "b": None, "c": Decimal(2), "d": {"g": False}, "e": 3, "f": 4}
    text_of_given = b'{"a": 1, "b": null, "c": 2, "d": {"g": false}, "e": 3, "f": 4}'
    assert in_arrow(column, read(text_of_given)) == given
    assert in_arrow(column, read(b"{}")) == whole | {"f": None}
    with pytest.raises(DecodeError):
        in_arrow(column, read(b'{"a": null, "f": 1}'))


@pytest.mark.parametrize("is_cyclic", [False, True])
def test_types_that_use_each_other_are_refused_once_they_are_too_many(is_cyclic: bool) -> None:
    """Every path through the types is a column, so that their number grows exponentially."""
    names = [f"T{number}" for number in range(40)]

    def next_names(number: int) -> list[str]:
        return [name for name in names if name != names[number]] if is_cyclic else names[number + 1 : number + 2] * 2

    parts = {
        name: {
            "type": "object",
            "properties": {f"f{at}": {"$ref": f"#/d/{other}"} for at, other in enumerate(next_names(n))},
        }
        for n, name in enumerate(names)
    }
    with pytest.raises(SchemaNotSupported, match=r"more than 10,000 columns within columns.*valueFormat=bytes"):
        json_column(json.dumps({"$ref": "#/d/T0", "d": parts}))
    if is_cyclic:
        return
    messages = " ".join(
        f"message {name} {{ {' '.join(f'{other} f{at} = {at + 1};' for at, other in enumerate(next_names(n)))} }}"
        for n, name in enumerate(names)
    )
    with pytest.raises(SchemaNotSupported, match="more than 10,000 columns"):
        protobuf_column(f'syntax = "proto3"; {messages}')
    kind: Any = "int"
    for name in reversed(names):
        inner = kind if isinstance(kind, str) else kind["name"]
        kind = {"type": "record", "name": name, "fields": [{"name": "a", "type": kind}, {"name": "b", "type": inner}]}
    with pytest.raises(SchemaNotSupported, match="more than 10,000 columns"):
        avro_column(json.dumps(kind))


@pytest.mark.parametrize("limit", [1_000, 5_000])
@pytest.mark.parametrize("levels", [100, 500])
def test_types_that_are_nested_too_deeply_are_refused(levels: int, limit: int) -> None:
    text = '{"type": "object", "properties": {"a": ' * levels + '{"type": "integer"}' + "}}" * levels
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, limit))
    try:
        with pytest.raises(SchemaNotSupported, match="more than 100 levels deep"):
            Decoding("json_schema", text, "orders-value").column()
    finally:
        sys.setrecursionlimit(before)


def test_a_type_may_have_100_levels() -> None:
    text = '{"type": "object", "properties": {"a": ' * 99 + '{"type": "integer"}' + "}}" * 99
    column = Decoding("json_schema", text, "orders-value").column()
    assert column.kind.simpleString().count("struct") == 99


def test_a_json_schema_that_contains_itself_ends_in_text() -> None:
    node = {"type": "object", "properties": {"id": {"type": "integer"}, "next": {"$ref": "#/definitions/N"}}}
    column = json_column(json.dumps({"$ref": "#/definitions/N", "definitions": {"N": node}}))
    assert column.kind.simpleString() == "struct<id:bigint,next:string>"
    assert in_arrow(column, {"id": 1, "next": {"id": 2}}) == {"id": 1, "next": '{"id":2}'}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer"}, "1.5"),
        ({"type": "integer"}, "true"),
        ({"type": "integer"}, "1e400"),
        (CONNECT_DECIMAL, '"1"'),
        (CONNECT_DECIMAL, "1e-2147483647"),
        (CONNECT_DECIMAL, "1e400"),
        (CONNECT_DECIMAL, "123456789012345678901"),
        (CONNECT_DECIMAL, "0.0000000000000000001"),
        ({"type": "number"}, '"1"'),
        ({"type": "boolean"}, "0"),
        ({"type": "number"}, "1e400"),
        ({"type": "object", "properties": {"number": {"type": "number"}, "text": {}}}, '{"number": 1e400}'),
        ({"type": "string"}, "1"),
        ({"type": "object", "properties": {"a": {}}}, "[]"),
        ({"type": "object"}, "[]"),
        ({"type": "array"}, "{}"),
        ({"type": "array"}, '"text"'),
        ({"type": "array", "items": {"type": "integer"}}, "[1, null]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, '{"a": null}'),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, "{}"),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, '{"a": null}'),
        ({"type": "integer", "title": "org.apache.kafka.connect.data.Time"}, "86400000"),
    ],
)
def test_json_that_does_not_fit_is_an_error_of_the_record(schema: Any, text: str) -> None:
    column = json_column(json.dumps(schema))
    assert column.convert is not None
    with pytest.raises(DecodeError):
        column.convert(json_reader(json.dumps(schema))(text.encode()))


@pytest.mark.parametrize(
    ("kind", "name", "day"), [("int", "time-millis", 86_400_000), ("long", "time-micros", 86_400_000_000)]
)
def test_a_time_outside_of_a_day_is_an_error_of_the_record(kind: str, name: str, day: int) -> None:
    column = avro_column(json.dumps({"type": kind, "logicalType": name}))
    assert column.convert is not None
    assert column.convert(0) == 0
    assert column.convert(day - 1) < 86_400_000_000_000
    for value in (-1, day):
        with pytest.raises(DecodeError, match=f"{value} is not a time of a day"):
            column.convert(value)


def test_protobuf_types() -> None:
    text = """syntax = "proto3"; import "google/protobuf/timestamp.proto"; import "google/protobuf/wrappers.proto";
    enum Color { RED = 0; BLUE = 1; }
    message M { uint64 big = 1; Color color = 2; bytes data = 3; map<string, int32> counts = 4;
      repeated M.Part parts = 5; google.protobuf.Timestamp at = 6; google.protobuf.Int32Value maybe = 7;
      optional double rate = 8;      message Part { string name = 1; } }"""
    column = protobuf_column(text, "M")
    assert column.kind.simpleString() == (
        "struct<big:decimal(20,0),color:string,data:binary,counts:map<string,int>,parts:array<struct<name:string>>,"
        "at:timestamp,maybe:int,rate:double>"
    )
    message = class_of(message_of(text, "M"))(big=2**64 - 1, color=1, data=b"x", counts={"a": 1}, parts=[{"name": "p"}])
    message.maybe.value = 0
    row = in_arrow(column, protobuf_reader(text, "M")(message.SerializeToString()))
    assert row["big"] == Decimal(2**64 - 1)
    assert (row["color"], row["data"], row["counts"], row["parts"]) == ("BLUE", b"x", [("a", 1)], [{"name": "p"}])
    assert (row["at"], row["maybe"], row["rate"]) == (None, 0, None)


PAIRS = """{
    params: [
      { value: "9", key: "precision" },
      { key: "scale" value: "2" }
    ]
  }"""


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ("", "decimal(38,18)"),
        (f" [(confluent.field_meta) = {PAIRS}]", "decimal(9,2)"),
        (f" [deprecated = true, (.confluent.field_meta) = {PAIRS}, json_name = 'e']", "decimal(9,2)"),
        (' [(confluent.field_meta).params = {precision: "9", scale: "2"}]', "decimal(9,2)"),
        (
            ' [(confluent.field_meta).params = {key: "precision", value: "9"}, '
            '(confluent.field_meta).params = {key: "scale", value: "2"}]',
            "decimal(9,2)",
        ),
        (' [(confluent.field_meta) = {doc: "scale: 2", params: {key: "precision" value: "9"}}]', "decimal(9,0)"),
        (f" [(other.field_meta) = {PAIRS}]", "decimal(38,18)"),
        (f" [(confluent.field_meta) = {{doc: 'd'}}, (other.meta) = {PAIRS}]", "decimal(38,18)"),
        (' [(confluent.field_meta).params = {scale: "2"}]', "decimal(38,18)"),
        (' [(confluent.field_meta).params = {precision: "2", scale: "3"}]', "decimal(38,18)"),
        (' [(confluent.field_meta).params = {precision: "many"}]', "decimal(38,18)"),
    ],
)
def test_a_protobuf_decimal_has_the_digits_that_its_field_declares(options: str, kind: str) -> None:
    head = 'syntax = "proto3"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; message A '
    fields = ("confluent.type.Decimal", "repeated confluent.type.Decimal", "map<string, confluent.type.Decimal>")
    shown = (kind, f"array<{kind}>", f"map<string,{kind}>")
    for field, column in zip(fields, shown, strict=True):
        text = f"{head} {{ {field} d = 1{options}; int32 other = 2; }}"
        assert protobuf_column(text).kind.simpleString() == f"struct<d:{column},other:int>"


def test_a_protobuf_decimal_that_does_not_fit_is_never_cut() -> None:
    text = """syntax = "proto3"; import "confluent/type/decimal.proto";
    message A { confluent.type.Decimal d = 1 [(confluent.field_meta).params = {precision: "5", scale: "2"}]; }"""
    column, message = protobuf_column(text), class_of(message_of(text, ""))()
    for unscaled, scale, value in ((99_999, 2, "999.99"), (9_990, 3, "9.99"), (7, -2, "700")):
        message.d.value, message.d.scale = unscaled.to_bytes(4, "big", signed=True), scale
        assert in_arrow(column, message) == {"d": Decimal(value)}
    for unscaled, scale in ((100_000, 2), (9_991, 3), (1, -3), (1, 2**31 - 1), (1, -(2**31)), (1, 38)):
        message.d.value, message.d.scale = unscaled.to_bytes(4, "big", signed=True), scale
        with pytest.raises(DecodeError, match=r"does not fit DECIMAL\(5, 2\)"):
            in_arrow(column, message)
    message.d.value, message.d.scale = b"", 2**31 - 1
    assert in_arrow(column, message) == {"d": Decimal(0)}


def in_avro(precision: int, scale: int, value: int) -> tuple[Column, Any]:
    schema = {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}
    return avro_column(json.dumps(schema)), Decimal(value).scaleb(-scale, Context(prec=100))


def in_json(precision: int, scale: int, value: int) -> tuple[Column, Any]:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return json_column(json.dumps(CONNECT_DECIMAL | {"connect.parameters": parameters})), in_avro(1, scale, value)[1]


def in_protobuf(precision: int, scale: int, value: int) -> tuple[Column, Any]:
    text = f"""syntax = "proto3"; import "confluent/type/decimal.proto";
    message A {{ confluent.type.Decimal d = 1
      [(confluent.field_meta).params = {{precision: "{precision}", scale: "{scale}"}}]; }}"""
    message = class_of(message_of(text))()
    message.d.value, message.d.scale = value.to_bytes(30, "big", signed=True), scale
    convert = protobuf_column(text).convert
    assert convert is not None
    kind = protobuf_column(text).kind
    assert isinstance(kind, StructType)
    return Column(kind["d"].dataType, lambda made: convert(made)["d"]), message


@pytest.mark.parametrize("column_of", [in_avro, in_json, in_protobuf])
def test_decimal_with_too_many_digits_gets_sparks_maximum_precision(
    column_of: Callable[[int, int, int], tuple[Column, Any]],
) -> None:
    column, value = column_of(64, 2, 12345)
    assert column.kind.simpleString() == "decimal(38,2)"
    assert in_arrow(column, value) == Decimal("123.45")
    column, value = column_of(64, 2, 10**38)
    with pytest.raises(DecodeError):
        in_arrow(column, value)
    column, value = column_of(64, 40, 3 * 10**37)
    assert column.kind.simpleString() == "decimal(38,38)"
    assert in_arrow(column, value) == Decimal("0.003")


@pytest.mark.parametrize("digits", ["1000", "9" * 5_000])
def test_absurd_decimal_precision_is_ignored(digits: str) -> None:
    text = f"""syntax = "proto3"; import "confluent/type/decimal.proto";
    message A {{ confluent.type.Decimal d = 1 [(confluent.field_meta).params = {{precision: "{digits}"}}]; }}"""
    assert protobuf_column(text).kind.simpleString() == "struct<d:decimal(38,18)>"
    parameters = {"scale": "2", "connect.decimal.precision": digits}
    assert json_column(json.dumps(CONNECT_DECIMAL | {"connect.parameters": parameters})).kind == DoubleType()


ORDERS = 'syntax = "proto3"; message Order { int32 id = 1; } message Refund { string id = 1; } message New { }'
OTHERS = """syntax = "proto3"; message Refund { string id = 1; message Part { int32 id = 1; } }
message Order { int32 id = 1; }"""
RENAMED = 'syntax = "proto3"; message Bestellung { int32 id = 1; }'
SEVERAL = 'syntax = "proto3"; message Bestellung { int32 id = 1; } message Refund { string id = 1; }'
REFUNDS = 'syntax = "proto3"; message Refund { string id = 1; }'
SCHEMAS = {1: ORDERS, 2: OTHERS, 3: RENAMED, 4: RENAMED, 5: SEVERAL, 6: '"string"', 7: REFUNDS}
OWN = {1, 2, 3, 5}


def frame(schema_id: int, path: bytes) -> bytes:
    return b"\0\0\0\0" + bytes([schema_id]) + path + b"\x08\x07"


def test_record_of_another_protobuf_message_is_refused() -> None:
    decoder = ProtobufDecoder(ORDERS, "", lambda number: SCHEMAS[number], OWN.__contains__)
    for schema_id, path in ((1, b"\0"), (2, b"\x02\x02"), (3, b"\0")):
        assert decoder.decode(frame(schema_id, path)).id == 7
    others = ((1, b"\x02\x02", "Refund"), (2, b"\0", "Refund"), (2, b"\x04\0\0", "Refund.Part"), (4, b"\0", "Best.*"))
    for schema_id, path, name in others:
        with pytest.raises(DecodeError, match=f"it is a message {name}, not Order: choose with the option"):
            decoder.decode(frame(schema_id, path))
    for schema_id, path in ((6, b"\0"), (3, b"\x02\x02")):
        with pytest.raises(DecodeError, match=f"of schema {schema_id} is unknown"):
            decoder.decode(frame(schema_id, path))


def test_a_reader_of_a_schema_with_one_message_refuses_another_message_and_a_foreign_one() -> None:
    decoder = ProtobufDecoder(RENAMED, "", lambda number: SCHEMAS[number], OWN.__contains__)
    for schema_id, path in ((3, b"\0"), (4, b"\0"), (5, b"\0"), (1, b"\0")):
        assert decoder.decode(frame(schema_id, path)).id == 7
    for schema_id, path, name in ((5, b"\x02\x02", "Refund"), (1, b"\x02\x02", "Refund"), (7, b"\0", "Refund")):
        with pytest.raises(DecodeError, match=f"it is a message {name}, not Bestellung"):
            decoder.decode(frame(schema_id, path))


PACKAGES = (
    'syntax = "proto3"; package v1; message Order { int32 id = 1; message Line { int32 id = 1; } }',
    'syntax = "proto3"; package v2; message Refund { int32 id = 1; } '
    "message Order { int32 id = 1; message Line { int32 id = 1; } }",
)


@pytest.mark.parametrize(("name", "path"), [("Order", b"\x02\x02"), ("v1.Order.Line", b"\x04\x02\0")])
def test_a_message_of_another_package_is_read_if_the_subject_has_it(name: str, path: bytes) -> None:
    decoder = ProtobufDecoder(PACKAGES[0], name, lambda number: PACKAGES[number % 2], {1}.__contains__)
    assert decoder.decode(frame(1, path)).id == 7
    others = ((1, b"\0", "v2.Refund"), (3, path, f"v2.{name.removeprefix('v1.')}"))
    for schema_id, other_path, writer in others:
        with pytest.raises(DecodeError, match=f"it is a message {writer}, not v1.{name.removeprefix('v1.')}:"):
            decoder.decode(frame(schema_id, other_path))


def test_a_schema_and_a_message_are_looked_up_once() -> None:
    asked: list[int] = []

    def text_of(schema_id: int) -> str:
        asked.append(schema_id)
        return SCHEMAS[schema_id]

    decoder = ProtobufDecoder(RENAMED, "", text_of)
    for _ in range(3):
        decoder.decode(frame(4, b"\0"))
    assert asked == [4]


def test_records_of_a_schema_that_can_t_be_read_are_refused_without_reading_it_again() -> None:
    asked: list[int] = []

    def text_of(schema_id: int) -> str:
        asked.append(schema_id)
        return "no schema"

    decoder = ProtobufDecoder(RENAMED, "", text_of)
    for _ in range(3):
        with pytest.raises(DecodeError, match="schema 4 is unknown"):
            decoder.decode(frame(4, b"\0"))
    assert asked == [4]


def test_a_protobuf_message_that_contains_itself_is_refused() -> None:
    with pytest.raises(SchemaNotSupported, match=r"value\.next has the recursive type N"):
        protobuf_column('syntax = "proto3"; message N { N next = 1; }')
