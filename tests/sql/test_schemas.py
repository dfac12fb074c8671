"""Records with schema ids are read and written with the real bytes of Avro, Protocol Buffers and JSON Schema."""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from forebay.serde.framing import header
from forebay.serde.proto_messages import class_of, message_of
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects
from forebay.sql.catalog import Form
from forebay.sql.schemas import avro, json_schema, protobuf
from forebay.sql.schemas.topics import frame_schema
from forebay.sql.statements import parse
from forebay.sql.syntax import CreateSource
from forebay.sql.types import StructType
from tests.sql.driven import Driven

COLUMNS = (
    "i INT, l BIGINT, d DOUBLE, b BOOLEAN, s VARCHAR, y BYTES, n DECIMAL(9, 2), day DATE, at TIME, ts TIMESTAMP, "
    "a ARRAY<INT>, m MAP<VARCHAR, DOUBLE>, st STRUCT<x INT, inner STRUCT<z VARCHAR>>, ss ARRAY<STRUCT<q BIGINT>>"
)
ROW = (
    '{"I": 1, "L": 12345678901, "D": 0.5, "B": true, "S": "ä", "Y": "AP8=", "N": -12.34, "DAY": 19000, "AT": 3723004, '
    '"TS": 1700000000123, "A": [1, 2], "M": {"k": 1.5}, "ST": {"X": 7, "INNER": {"Z": "z"}}, "SS": [{"Q": 9}]}'
)
EMPTY = json.dumps(dict.fromkeys(("I", "L", "D", "B", "S", "Y", "N", "DAY", "AT", "TS", "A", "M", "ST", "SS")))


def through(kind: str, *rows: str) -> list[Any]:
    """Return the rows that a second job reads after a first job has read JSON and written another format."""
    first = Driven(
        f"CREATE STREAM s ({COLUMNS}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        f"CREATE STREAM o WITH (KAFKA_TOPIC='out', VALUE_FORMAT='{kind}') AS SELECT * FROM s;"
    )
    return [item for row in rows for _, item, _ in first.send("in", None, row)]


@pytest.mark.parametrize("kind", ["AVRO", "JSON_SR", "PROTOBUF", "PROTOBUF_NOSR"])
def test_every_type_survives_a_round_trip(kind: str, registry: LocalSubjects) -> None:
    [full] = through(kind, ROW)
    assert full == through("JSON", ROW)[0]
    newest = registry.newest("out-value")
    assert (newest is None) == (kind == "PROTOBUF_NOSR")


def test_nulls_are_preserved_except_for_protobuf_scalars(registry: LocalSubjects) -> None:
    assert through("AVRO", EMPTY) == through("JSON_SR", EMPTY) == [(None,) * 14]
    assert through("PROTOBUF", EMPTY)[0][:5] == (0, 0, 0.0, False, "")
    assert through("PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION='OPTIONAL", EMPTY)[0][:6] == (None,) * 6
    assert through("PROTOBUF', VALUE_PROTOBUF_NULLABLE_REPRESENTATION='WRAPPER", EMPTY)[0][:6] == (None,) * 6


def columns_of(columns: str) -> Any:
    [statement] = parse(f"CREATE STREAM s ({columns}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');", "test.sql")
    assert isinstance(statement, CreateSource)
    return statement.columns


def test_schema_derived_from_columns_has_those_columns() -> None:
    columns = columns_of(COLUMNS)
    kind = StructType(tuple((column.name, column.type) for column in columns))
    assert avro.type_of(avro.schema_of(columns, "a.b.C", wraps=True)) == kind
    assert json_schema.type_of(json_schema.schema_of(columns, wraps=True)) == kind
    assert protobuf.type_of(message_of(protobuf.schema_of(columns, ""))) == kind


def test_schemas_are_named_as_ksqldb_names_them() -> None:
    columns = columns_of("f1 VARCHAR, f2 STRUCT<g INT>")
    result = json.loads(avro.schema_of(columns, "io.confluent.ksql.avro_schemas.OutputKey", wraps=True))
    assert (result["name"], result["namespace"]) == ("OutputKey", "io.confluent.ksql.avro_schemas")
    assert result["fields"][0] == {"name": "F1", "type": ["null", "string"], "default": None}
    assert result["fields"][1]["type"][1]["name"] == "OutputKey_F2"
    assert protobuf.schema_of(columns_of("i INTEGER, l BIGINT"), "").split() == [
        *("syntax", "=", '"proto3";'),
        *("message", "ConnectDefault1", "{", "int32", "I", "=", "1;", "int64", "L", "=", "2;", "}"),
    ]


WRITER = {
    "type": "record",
    "name": "Click",
    "namespace": "shop",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "page", "type": {"type": "enum", "name": "Page", "symbols": ["HOME", "CART"]}},
        {"name": "price", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}]},
        {"name": "either", "type": ["int", "string"]},
        {"name": "tags", "type": {"type": "map", "values": "long"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def avro_bytes(schema_id: int, schema: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return header(schema_id) + out.getvalue()


def test_columns_that_are_left_out_are_those_of_the_newest_schema(registry: LocalSubjects) -> None:
    registry.register("clicks-key", Schema('"long"'))
    old = registry.register("clicks-value", Schema(json.dumps({**WRITER, "fields": WRITER["fields"][:2]}))).schema_id
    new = registry.register("clicks-value", Schema(json.dumps(WRITER))).schema_id
    driven = Driven(
        "CREATE STREAM clicks WITH (KAFKA_TOPIC='clicks', FORMAT='AVRO');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT ROWKEY, user, page, price * 2 AS twice, "
        "tags['a'] AS a, at FROM clicks;"
    )
    source = driven.program.catalog.find("CLICKS")
    assert source is not None
    assert ", ".join(map(str, source.columns)) == (
        "ROWKEY BIGINT, USER STRING, PAGE STRING, PRICE DECIMAL(9, 2), TAGS MAP<STRING, BIGINT>, AT TIMESTAMP"
    )
    click = {"user": "ann", "page": "CART", "price": None, "either": 1, "tags": {"a": 3}, "at": 5}
    key = avro_bytes(registry.register("clicks-key", Schema('"long"')).schema_id, "long", 42)
    driven.driver.pipe_bytes(key, avro_bytes(new, WRITER, click), 0, "clicks")
    first = {**WRITER, "fields": WRITER["fields"][:2]}
    driven.driver.pipe_bytes(key, avro_bytes(old, first, {"user": "bob", "page": "HOME"}), 1, "clicks")
    assert [(output.key, output.value) for output in driven.driver.outputs] == [
        ((42,), ("ann", "CART", None, 3, 5)),
        ((42,), ("bob", "HOME", None, None, None)),
    ]


def test_equal_keys_with_different_schema_ids_are_joined(registry: LocalSubjects) -> None:
    ids = [
        registry.register(f"{topic}-key", Schema(text)).schema_id
        for topic, text in (("l", '"long"'), ("r", '{"type": "long"}'))
    ]
    assert ids[0] != ids[1]
    head = "".join(
        f"CREATE STREAM {topic} (id BIGINT KEY, v VARCHAR) WITH (KAFKA_TOPIC='{topic}', KEY_FORMAT='AVRO', "
        "VALUE_FORMAT='JSON');\n"
        for topic in "lr"
    )
    join = (
        "CREATE STREAM o AS SELECT l.id, l.v AS a, r.v AS b FROM l JOIN r WITHIN 1 HOUR GRACE PERIOD 0 SECONDS "
        "ON l.id = r.id;"
    )
    driven = Driven(head + join, tasks=4)
    for number in range(20):
        for schema_id, topic in zip(ids, "lr", strict=True):
            driven.driver.pipe_bytes(avro_bytes(schema_id, "long", number), b'{"V": "x"}', number, topic)
    assert sorted(output.key for output in driven.driver.outputs) == [(number,) for number in range(20)]


def test_a_key_of_a_message_joins_a_table(registry: LocalSubjects) -> None:
    driven = Driven(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR) WITH (KAFKA_TOPIC='t', FORMAT='PROTOBUF');\n"
        "CREATE STREAM s (id INT KEY, n INT) WITH (KAFKA_TOPIC='s', FORMAT='PROTOBUF');\n"
        "CREATE STREAM o WITH (KEY_FORMAT='JSON_SR') AS SELECT s.id, name, n FROM s JOIN t ON s.id = t.id;",
        tasks=4,
    )
    for number in range(8):
        driven.driver.pipe((number,), (f"name {number}",), "t", number)
        driven.driver.pipe((number,), (number * 2,), "s", number)
    assert [(output.key, output.value) for output in driven.driver.outputs] == [
        ((number,), (f"name {number}", number * 2)) for number in range(8)
    ]


RUBBISH = {
    "no framing": b"{}",
    "too short": b"\0\0\0\0\1",
    "an unknown schema": header(999) + b"\0",
    "cut off": header(1) + b"\x0ab",
    "too long": header(1) + b"\x02a\x00\x00\x00",
}


@pytest.mark.parametrize("what", RUBBISH)
def test_bytes_that_do_not_fit_go_to_errors_and_the_job_continues(what: str, registry: LocalSubjects) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "v", "type": "string"}]}
    schema_id = registry.register("in-value", Schema(json.dumps(schema))).schema_id
    driven = Driven(
        "CREATE STREAM s (v VARCHAR) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='AVRO');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='JSON') AS SELECT v FROM s;"
    )
    driven.driver.pipe_bytes(None, RUBBISH[what], 0, "in")
    driven.driver.pipe_bytes(None, avro_bytes(schema_id, schema, {"v": "good"}), 1, "in")
    assert [output.value for output in driven.driver.outputs] == [("good",)]
    [error] = driven.driver.errors
    assert error.value == RUBBISH[what]


def test_a_result_can_be_written_under_a_schema_that_is_there(registry: LocalSubjects) -> None:
    text = json.dumps(
        {
            "type": "record",
            "name": "Out",
            "fields": [
                {"name": "more", "type": "int", "default": 7},
                {"name": "n", "type": "long"},
            ],
        }
    )
    schema_id = registry.register("given", Schema(text), schema_id=77).schema_id
    driven = Driven(
        "CREATE STREAM s (n BIGINT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        f"CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID={schema_id}) AS SELECT n FROM s;"
    )
    assert driven.send("in", None, {"N": 5}) == [(None, (5,), 0)]
    assert registry.newest("O-value") is None


@pytest.mark.parametrize("kind", ["BOOLEAN", "INT", "VARCHAR", "ARRAY<INT>", "MAP<VARCHAR, INT>", "STRUCT<x INT>"])
def test_a_single_column_of_avro_that_is_null_is_a_null_value(kind: str, registry: LocalSubjects) -> None:
    driven = Driven(
        f"CREATE STREAM s (id VARCHAR KEY, c {kind}) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='AVRO', WRAP_SINGLE_VALUE=FALSE) AS SELECT * FROM s;"
    )
    assert driven.send("in", "k", {"C": None}) == [("k", None, 0)]
    assert driven.driver.errors == []


def test_a_null_of_kafkas_own_bytes_is_a_null_value() -> None:
    driven = Driven(
        "CREATE STREAM s (id VARCHAR KEY, c INT) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='KAFKA') AS SELECT * FROM s;"
    )
    assert driven.rows("in", ("k", {"C": None}), ("k", {"C": 4})) == [("k", None), ("k", (4,))]


@pytest.mark.parametrize("kind", ["JSON", "JSON_SR", "AVRO", "PROTOBUF"])
def test_null_key_of_a_map_is_written_as_the_text_null(kind: str, registry: LocalSubjects) -> None:
    driven = Driven(
        "CREATE STREAM s (id VARCHAR KEY, c VARCHAR) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        f"CREATE STREAM o WITH (VALUE_FORMAT='{kind}') AS SELECT id, MAP(c := 1, 'b' := 2) AS m FROM s PARTITION BY id;"
    )
    assert driven.rows("in", ("k", {"C": None})) == [("k", ({"null": 1, "b": 2},))]


def test_a_map_with_a_null_key_is_kept_in_a_store() -> None:
    driven = Driven(
        "CREATE STREAM s (id VARCHAR KEY, c VARCHAR) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='JSON');\n"
        "CREATE TABLE o AS SELECT c, LATEST_BY_OFFSET(MAP(CAST(NULL AS VARCHAR) := id)) AS m FROM s GROUP BY c;"
    )
    assert driven.rows("in", ("k", {"C": "a"})) == [("a", ({"null": "k"},))]
    assert driven.driver.errors == []


def test_a_map_that_ksqldb_wrote_as_entries_is_read_and_written(registry: LocalSubjects) -> None:
    text = (
        'syntax = "proto3"; message ConnectDefault1 { repeated ConnectDefault2Entry M = 1; '
        "message ConnectDefault2Entry { string key = 1; bool value = 2; } }"
    )
    registry.register("in-value", Schema(text), "PROTOBUF")
    message = message_of(text)
    record = class_of(message)()
    record.M.add(key="x", value=True)
    record.M.add(key="y")
    driven = Driven(
        "CREATE STREAM s (k STRING KEY, m MAP<STRING, BOOLEAN>) WITH (KAFKA_TOPIC='in', VALUE_FORMAT='PROTOBUF');\n"
        "CREATE STREAM o AS SELECT k, m FROM s;"
    )
    schema_id = registry.register("in-value", Schema(text), "PROTOBUF").schema_id
    driven.driver.pipe_bytes(b"a", header(schema_id) + b"\0" + record.SerializeToString(), 1, "in")
    assert driven.driver.errors == []
    assert [output.value for output in driven.driver.outputs] == [({"x": True, "y": False},)]


@pytest.mark.parametrize("kind", ["INT", "STRUCT<x INT>", "DECIMAL(4, 2)", "TIMESTAMP"])
def test_maps_of_every_kind_are_written_as_ksqldb_writes_them(kind: str) -> None:
    columns = columns_of(f"m MAP<VARCHAR, {kind}>")
    text = protobuf.schema_of(columns, "")
    assert "repeated ConnectDefault2Entry M = 1;" in text
    rows = frame_schema("PROTOBUF_NOSR", columns, Form(), "", "", wraps=True)
    value: Any = {"INT": 5, "STRUCT<x INT>": (5,), "DECIMAL(4, 2)": Decimal("1.50"), "TIMESTAMP": 7}[kind]
    assert rows.decode(rows.encode(({"a": value},))) == ({"a": value},)
    assert protobuf.type_of(message_of(text)) == StructType((("M", columns[0].type),))


def test_protobuf_schema_declares_the_precision_of_decimals() -> None:
    columns = columns_of("n DECIMAL(4, 2), a ARRAY<DECIMAL(9, 0)>, s STRUCT<d DECIMAL(2, 1)>")
    text = protobuf.schema_of(columns, "OPTIONAL")
    assert protobuf.type_of(message_of(text)) == StructType(tuple((column.name, column.type) for column in columns))
    bare = re.sub(r" \[\(confluent.*\]", "", text)
    assert protobuf.type_of(message_of(bare)) == StructType((("S", StructType(())),))


def test_a_message_may_import_what_comes_with_protocol_buffers() -> None:
    text = 'syntax = "proto3"; import "google/protobuf/duration.proto"; message A { google.protobuf.Duration d = 1; }'
    assert message_of(text).fields[0].message_type.full_name == "google.protobuf.Duration"


def test_attributes_of_a_type_of_avro_that_mean_nothing_are_ignored() -> None:
    fields = [
        {"name": "E", "type": {"type": "enum", "name": "E", "symbols": ["a"], "values": [{"name": "a", "doc": "d"}]}},
        {"name": "S", "type": {"type": "string", "fields": ["a"], "items": [{}]}},
        {
            "name": "N",
            "type": {"type": "array", "items": {"type": "record", "name": "I", "fields": []}, "values": [{}]},
        },
    ]
    kind = avro.type_of(json.dumps({"type": "record", "name": "R", "fields": fields}))
    assert str(kind) == "STRUCT<`E` STRING, `S` STRING, `N` ARRAY<STRUCT<>>>"
