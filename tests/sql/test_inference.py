"""Columns are inferred from a registry: names, types, rejected schemas, and the file of stored responses."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from forebay.serde.proto_messages import message_of
from forebay.serde.proto_text import WrongProto
from forebay.serde.schema import Schema
from forebay.serde.subjects import LocalSubjects, connect
from forebay.sql.errors import SqlError
from forebay.sql.program import program_of
from forebay.sql.schemas.lookup import Kept
from forebay.sql.schemas.protobuf import type_of

PROTO = """
// A comment with a "quote".
syntax = "proto3";
package shop.v1;
import "google/protobuf/timestamp.proto";
option java_package = "shop";
enum Kind { UNKNOWN = 0; BOOK = 1 [deprecated = true]; }
message Other { uint32 n = 1; }
message Order {
  option (a).b = {x: 1};
  reserved 4, 9 to 11;
  string id = 1; /* the number */ int64 amount = 2 [(meta) = {params: [{key: "a", value: "b"}]}];
  repeated Line lines = 3;
  map<string, double> prices = 5;
  Kind kind = 6;
  oneof which { int32 left = 7; bool right = 8; }
  optional float share = 12;
  google.protobuf.Timestamp at = 13;
  Order parent = 14;
  message Line { bytes code = 1; Other other = 2; }
}
"""


def test_messages_are_columns() -> None:
    assert str(type_of(message_of(PROTO, "Order"))) == (
        "STRUCT<`id` STRING, `amount` BIGINT, `lines` ARRAY<STRUCT<`code` BYTES, `other` STRUCT<`n` BIGINT>>>, "
        "`prices` MAP<STRING, DOUBLE>, `kind` STRING, `left` INTEGER, `right` BOOLEAN, `share` DOUBLE, `at` TIMESTAMP>"
    )
    assert message_of(PROTO).name == "Other"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("message A { string x = 1;", "ends too early"),
        ("message A { string x 1; }", "'1' is where '='"),
        ('syntax = "proto3"; message A { B b = 1; }', "is inconsistent"),
        ('import "far/away.proto"; message A {}', "far/away.proto"),
        ("{", "can't begin a definition"),
        ("message A { string x = one; }", "not a number of a field"),
        ("§", "is not allowed in a .proto file"),
    ],
)
def test_invalid_proto_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(WrongProto, match=reason):
        message_of(text)


def columns(sql: str) -> str:
    [source] = program_of(sql, "test.sql").catalog
    return ", ".join(map(str, source.columns))


def test_names_are_upper_case_unless_a_schema_is_named(registry: LocalSubjects) -> None:
    text = json.dumps({"type": "object", "properties": {"userId": {"type": "integer"}, "at": {"type": "string"}}})
    schema_id = registry.register("t-value", Schema(text)).schema_id
    head = "CREATE STREAM s WITH (KAFKA_TOPIC='t', KEY_FORMAT='NONE', VALUE_FORMAT='JSON_SR'"
    assert columns(f"{head});") == "USERID BIGINT, AT STRING"
    assert columns(f"{head}, VALUE_SCHEMA_ID={schema_id});") == "userId BIGINT, at STRING"


def test_keys_and_values_come_from_their_own_subjects(registry: LocalSubjects) -> None:
    registry.register(
        "t-key", Schema(json.dumps({"type": "record", "name": "K", "fields": [{"name": "a", "type": "int"}]}))
    )
    registry.register("t-value", Schema('"string"'))
    table = "CREATE TABLE t WITH (KAFKA_TOPIC='t', FORMAT='AVRO', WRAP_SINGLE_VALUE=FALSE);"
    assert columns(table) == "ROWKEY STRUCT<`A` INTEGER>, ROWVAL STRING"
    assert columns("CREATE STREAM s (v VARCHAR) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');") == (
        "ROWKEY STRUCT<`A` INTEGER>, V STRING"
    )
    registry.register("p-key", Schema(PROTO))
    registry.register("p-value", Schema(PROTO))
    assert columns(
        "CREATE TABLE t WITH (KAFKA_TOPIC='p', FORMAT='PROTOBUF', KEY_SCHEMA_FULL_NAME='shop.v1.Other', "
        "VALUE_SCHEMA_FULL_NAME='shop.v1.Order');"
    ).startswith("N BIGINT, ID STRING, AMOUNT BIGINT, LINES ARRAY<")


REFUSED = {
    "CREATE STREAM s WITH (KAFKA_TOPIC='t', KEY_FORMAT='NONE', VALUE_FORMAT='AVRO');": "t-value: write the columns",
    "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', FORMAT='AVRO');": "no schema t-key: write KEY_FORMAT = 'NONE'",
    "CREATE STREAM s (v INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=1);": "leave out the list",
    "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON', VALUE_SCHEMA_ID=1);": "is for AVRO, PROTOBUF",
    "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=99);": "unknown schema id 99",
    "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID='a');": "write the number",
    "CREATE STREAM s WITH (KAFKA_TOPIC='single', VALUE_FORMAT='AVRO');": "write WRAP_SINGLE_VALUE = FALSE",
    "CREATE STREAM s WITH (KAFKA_TOPIC='rubbish', VALUE_FORMAT='AVRO');": "is not a schema of AVRO",
    "CREATE STREAM s WITH (KAFKA_TOPIC='unfolds', VALUE_FORMAT='JSON_SR');": "10,000 fields within fields: write the",
    "CREATE STREAM s WITH (KAFKA_TOPIC='deep', VALUE_FORMAT='JSON_SR');": "10,000 fields within fields: write the",
    "CREATE STREAM s WITH (KAFKA_TOPIC='single', VALUE_FORMAT='PROTOBUF');": "is not a schema of PROTOBUF",
}


@pytest.mark.parametrize("sql", REFUSED)
def test_columns_that_no_schema_has_are_refused_with_place_and_remedy(sql: str, registry: LocalSubjects) -> None:
    registry.register("single-value", Schema('"int"'))
    registry.register("rubbish-value", Schema("{"))
    parts = {f"T{n}": {key: {"$ref": f"#/d/T{n + 1}"} for key in "ab"} for n in range(40)}
    document: Any = {
        "$ref": "#/d/T0",
        "d": {name: {"type": "object", "properties": part} for name, part in parts.items()},
    }
    document["d"] |= {"T40": {"type": "integer"}}
    registry.register("unfolds-value", Schema(json.dumps(document)))
    chain = {f"T{n}": {"type": "object", "properties": {"a": {"$ref": f"#/d/T{n + 1}"}}} for n in range(2_000)}
    registry.register("deep-value", Schema(json.dumps({"$ref": "#/d/T0", "d": chain})))
    with pytest.raises(SqlError) as refused:
        program_of(sql, "views.sql")
    assert str(refused.value).startswith("views.sql:1:1: ")
    assert REFUSED[sql] in str(refused.value)


def test_a_result_that_does_not_fit_the_schema_it_names_is_refused(registry: LocalSubjects) -> None:
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]})
    registry.register("given", Schema(text), schema_id=5)
    sql = (
        "CREATE STREAM s (n BIGINT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=5) AS SELECT n FROM s;"
    )
    with pytest.raises(SqlError, match=r"views.sql:2:1: the schema 5 has no N BIGINT: it has n INTEGER"):
        program_of(sql, "views.sql")


@pytest.mark.parametrize(
    ("field", "refused"),
    [
        ({"type": "string"}, True),
        ({"type": ["int", "string"]}, True),
        ({"type": "string", "default": "x"}, False),
        ({"type": ["null", "string"]}, False),
    ],
)
def test_a_schema_with_a_field_that_the_result_can_t_fill_is_refused(
    field: dict[str, Any], refused: bool, registry: LocalSubjects
) -> None:
    fields = [{"name": "more", **field}, {"name": "n", "type": "int"}]
    registry.register("given", Schema(json.dumps({"type": "record", "name": "R", "fields": fields})), schema_id=5)
    sql = (
        "CREATE STREAM s (n INT) WITH (KAFKA_TOPIC='t', VALUE_FORMAT='JSON');\n"
        "CREATE STREAM o WITH (VALUE_FORMAT='AVRO', VALUE_SCHEMA_ID=5) AS SELECT n FROM s;"
    )
    with pytest.raises(SqlError, match=r"views.sql:2:1: .*field more") if refused else nullcontext():
        program_of(sql, "views.sql")


def test_inferred_schema_is_reused_by_later_starts(registry: LocalSubjects, tmp_path: Path) -> None:
    file = tmp_path / "views.sql"
    sql = "CREATE STREAM s WITH (KAFKA_TOPIC='t', VALUE_FORMAT='AVRO');"
    schema = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int"}]}
    registry.register("t-value", Schema(json.dumps(schema)))
    assert program_of(sql, lookup=Kept(file)).catalog.find("S")
    connect(LocalSubjects())
    [source] = program_of(sql, lookup=Kept(file)).catalog
    assert str(source.values[0]) == "N INTEGER"
    retained = tmp_path / "views.schemas.json"
    assert list(json.loads(retained.read_text())) == ["t-value"]
    retained.write_text("{")
    with pytest.raises(SqlError, match="delete it to fetch them again"):
        program_of(sql, lookup=Kept(file))
