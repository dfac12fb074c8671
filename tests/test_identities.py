"""The identity of a format determines whether an edited format can read the rows in a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, tzinfo
from enum import Enum
from functools import cached_property
from typing import Any

import pytest
from google.protobuf import struct_pb2

from forebay.builder.keys import session_windowed, windowed_format
from forebay.formats import BYTES, DOUBLE, FLOAT, INT, LONG, TEXT, UUID, Format, avro, simple
from forebay.formats.identities import (
    Identity,
    Misread,
    by_name,
    by_number,
    by_place,
    columns_of,
    key_of,
    merge_identities,
    reads_alike,
    values_of,
    with_mark,
)
from forebay.formats.identity_words import words_of
from forebay.formats.record_shapes import shape_of
from forebay.ksml.avro import avro_format
from forebay.ksml.json_schemas import json_schema_format
from forebay.ksml.pairs import pair_of
from forebay.records import Record
from forebay.serde.json_format import JSON, json_of
from forebay.serde.json_schema_format import json_schema
from forebay.serde.key_formats import avro_key, composite
from forebay.serde.proto_identity import identity_of
from forebay.serde.proto_messages import message_of
from forebay.serde.protobuf_format import protobuf
from forebay.sql.catalog import Encoding, Named
from forebay.sql.encodings.rows import key_format, value_format
from forebay.sql.types import BIGINT, STRING, TIMESTAMP
from forebay.sql.types import DOUBLE as SQL_DOUBLE
from forebay.sql.types import INT as SQL_INT
from forebay.stateful.formats import map_keys, state_format
from forebay.stateful.grouping import json_key
from forebay.time.base import Window, Windows


class Place(Record):
    town: str
    number: int


class Renamed(Record):
    city: str
    number: int


class Swapped(Record):
    number: str
    town: int


class Score(Record):
    n: int


class Rating(Record):
    n: int
    note: str | None = None


class Node(Record):
    below: tuple[Node, ...]


OWN = simple("own", int, lambda value: b"", lambda data: 0)
A, B, C = Named("A", SQL_INT), Named("B", SQL_INT), Named("C", STRING)


def of(kind: str, *columns: Named, **options: Any) -> Format[Any]:
    return value_format(columns, Encoding(value=kind, **options))


def proto(fields: str) -> Any:
    return identity_of(message_of(f'syntax = "proto3"; message M {{ {fields} }}'), "PROTOBUF_NOSR")


def compare(before: Any, now: Any, *, is_key: bool = False) -> str:
    """Return the outcome of an edit: same, compatible or refused."""
    recorded, declared = ((kind.identity if isinstance(kind, Format) else kind) for kind in (before, now))
    # Convert it as it is written to the layout row and read back.
    recorded = json.loads(json.dumps(recorded))
    try:
        merged = merge_identities(recorded, declared, is_key=is_key)
    except Misread:
        return "refused"
    assert merge_identities(merged, declared, is_key=is_key) == merged, "the next start changes nothing"
    return "same" if merged == recorded else "compatible"


RULES: list[tuple[Any, Any, str]] = [
    # Kafka's own formats
    (LONG, LONG, "same"),
    (LONG, INT, "refused"),
    *((one, other, "refused") for one in (INT, LONG, FLOAT, DOUBLE, TEXT) for other in (LONG, DOUBLE) if one != other),
    (LONG, DOUBLE, "refused"),
    (DOUBLE, FLOAT, "refused"),
    (LONG, TEXT, "refused"),
    (TEXT, BYTES, "refused"),
    (TEXT, UUID, "refused"),
    # formats that a user wrote are identified by their names
    (OWN, OWN, "same"),
    (OWN, LONG, "refused"),
    (LONG, OWN, "refused"),
    (OWN, simple("other", int, bytes, len), "refused"),
    (OWN, simple("other", int, bytes, len, identity="format own"), "same"),
    (OWN, Format("own", int, OWN.codec), "same"),
    (None, OWN, "compatible"),
    (None, LONG, "compatible"),
    (simple("own", int, bytes, len, identity="own 1"), simple("own", int, bytes, len, identity="own 2"), "refused"),
    # fields by name
    (json_of(Score), json_of(Score), "same"),
    (json_of(Score), json_of(Rating), "compatible"),
    (json_of(Rating), JSON, "compatible"),
    (avro(Score), avro(Rating), "compatible"),
    (avro(Score), json_of(Score), "refused"),
    (JSON, LONG, "refused"),
    (JSON, TEXT, "refused"),
    (JSON, json_schema({"type": "object"}, schema_id=7), "compatible"),
    (json_schema({"type": "object"}, schema_id=7), JSON, "refused"),
    # fields by place
    (composite(Place), composite(Place), "same"),
    (composite(Place), composite(Renamed), "compatible"),
    (composite(Place), composite(Swapped), "refused"),
    (composite(Place), composite(Score), "refused"),
    # state of transformWithState
    (state_format("a int, b string", "s"), state_format("b string, a int", "s"), "same"),
    (state_format("a int", "s"), state_format("a int, b string", "s"), "compatible"),
    (state_format("a int, b string", "s"), state_format("a int", "s"), "same"),
    (state_format("a int", "s"), state_format("a bigint", "s"), "compatible"),
    (state_format("a int", "s"), state_format("a double", "s"), "compatible"),
    (state_format("a bigint", "s"), state_format("a int", "s"), "refused"),
    (state_format("a int", "s"), state_format("a string", "s"), "refused"),
    (state_format("a bigint", "s"), state_format("a timestamp", "s"), "refused"),
    (state_format("a timestamp", "s"), state_format("a timestamp_ntz", "s"), "refused"),
    (state_format("a decimal(10,2)", "s"), state_format("a decimal(12,2)", "s"), "same"),
    (state_format("a decimal(10,2)", "s"), state_format("a decimal(10,4)", "s"), "refused"),
    (state_format("a varchar(5)", "s"), state_format("a string", "s"), "same"),
    (state_format("a struct<x: int>", "s"), state_format("a struct<y: date, x: bigint>", "s"), "compatible"),
    (state_format("a struct<x: int>", "s"), state_format("a struct<x: date>", "s"), "refused"),
    (state_format("a array<int>", "s"), state_format("a array<string>", "s"), "refused"),
    (state_format("a map<int, int>", "s"), state_format("a map<int, bigint>", "s"), "compatible"),
    (map_keys("k int", "s").identity, map_keys("other bigint", "s").identity, "compatible"),
    (map_keys("k int", "s").identity, map_keys("k string", "s").identity, "refused"),
    (map_keys("k int", "s").identity, map_keys("k double", "s").identity, "refused"),
    (map_keys("k double", "s").identity, map_keys("k double", "s").identity, "same"),
    (map_keys("k int", "s").identity, map_keys("k int, l int", "s").identity, "refused"),
    (json_key(("a", "b"), ("str", "int")), json_key(("c", "b"), ("str", "int")), "compatible"),
    (json_key(("a", "b"), ("str", "str")), json_key(("b", "a"), ("str", "str")), "refused"),
    (json_key(("a", "b"), ("str", "int")), json_key(("a", "b"), ("str", "str")), "refused"),
    (json_key(("a", "b"), (None, None)), json_key(("a", "b"), ("str", "str")), "compatible"),
    # fields by number
    (protobuf(struct_pb2.Struct), protobuf(struct_pb2.Struct), "same"),
    (protobuf(struct_pb2.Struct), protobuf(struct_pb2.ListValue), "refused"),
    (proto("int32 a = 1;"), proto("int32 a = 1; string b = 2;"), "compatible"),
    (proto("int32 a = 1; string b = 2;"), proto("int32 a = 1;"), "same"),
    (proto("int32 a = 1;"), proto("int64 a = 1;"), "compatible"),
    (proto("int64 a = 1;"), proto("int32 a = 1;"), "refused"),
    (proto("int32 a = 1;"), proto("string a = 1;"), "refused"),
    (proto("int32 a = 1;"), proto("int32 b = 1;"), "compatible"),
    (proto("int32 a = 1; int32 b = 2;"), proto("int32 b = 1; int32 a = 2;"), "refused"),
    (proto("int32 a = 1;"), proto("repeated int32 a = 1;"), "refused"),
    (proto("M m = 1; int32 n = 2;"), proto("M m = 1; int32 n = 2;"), "same"),
    # formats that wrap others
    (windowed_format(TEXT, 10), windowed_format(TEXT, 10), "same"),
    (windowed_format(TEXT, 10), windowed_format(TEXT, 20), "refused"),
    (["windowed", "text"], windowed_format(TEXT, 20), "compatible"),
    (windowed_format(TEXT, 10), windowed_format(LONG, 10), "refused"),
    (windowed_format(TEXT, 10), session_windowed(TEXT), "refused"),
    (windowed_format(TEXT, 10), TEXT, "refused"),
    (pair_of(JSON, LONG), pair_of(json_of(Score), LONG), "compatible"),
    (pair_of(JSON, LONG), pair_of(JSON, TEXT), "refused"),
    (pair_of(JSON, LONG), pair_of(JSON, OWN), "refused"),
    # keys that an operator composes
    (key_of("long", "text"), key_of("long", "text"), "same"),
    (key_of("long", "text"), key_of("int", "text"), "refused"),
    (key_of("text", "long"), key_of("text", "text"), "refused"),
    (key_of("text"), key_of("text", "text"), "refused"),
    (TEXT, key_of("long", "text"), "compatible"),
    (TEXT, with_mark(LONG.identity), "compatible"),
    (with_mark(LONG.identity), TEXT, "refused"),
    (with_mark(LONG.identity), with_mark(INT.identity), "refused"),
    (values_of("A", "text"), values_of("A", "text"), "same"),
    (values_of("A", "text"), values_of("B", "text"), "refused"),
    (values_of("A", "text"), values_of("A", "int"), "refused"),
    # Earlier builds of 0.3 recorded no expressions.
    ("text", values_of("A", "text"), "compatible"),
    ("int", values_of("A", "text"), "refused"),
    (key_of("text", "int"), values_of("A", key_of("text", "int")), "compatible"),
    # values in SQL
    (of("JSON", A), of("JSON", A, B), "compatible"),
    (of("JSON", A, B), of("JSON", B, A), "compatible"),
    (of("JSON", A), of("JSON", A, wraps=False), "refused"),
    (of("JSON"), of("JSON", A), "compatible"),
    (of("KAFKA", A), of("JSON", A), "refused"),
    (of("KAFKA", A), of("KAFKA", B), "same"),
    (of("KAFKA", Named("A", BIGINT)), of("KAFKA", Named("A", TIMESTAMP)), "same"),
    (of("KAFKA", A), of("KAFKA", Named("A", BIGINT)), "refused"),
    (of("DELIMITED", A, B), of("DELIMITED", A, Named("D", SQL_INT)), "compatible"),
    (of("DELIMITED", A, B), of("DELIMITED", B, A), "refused"),
    (of("DELIMITED", A, B), of("DELIMITED", A, B, C), "refused"),
    (of("DELIMITED", A), of("DELIMITED", Named("A", SQL_DOUBLE)), "refused"),
    (of("DELIMITED", A, B), of("DELIMITED", A, B, delimiter=";"), "refused"),
    (of("DELIMITED", A, B), of("JSON", A, B), "refused"),
    (of("DELIMITED", A, B), of("DELIMITED", Named("A", BIGINT), B), "compatible"),
    (of("DELIMITED", Named("A", BIGINT), B), of("DELIMITED", A, B), "refused"),
    # no columns
    (of("DELIMITED", A, B), of("DELIMITED"), "compatible"),
    (of("JSON", A), of("NONE"), "compatible"),
    (of("NONE"), of("NONE"), "same"),
    (of("NONE"), of("JSON", A), "compatible"),
    (of("NONE"), of("DELIMITED", A), "refused"),
    (merge_identities(of("JSON", A).identity, of("NONE").identity), of("JSON", A, B), "compatible"),
    (merge_identities(of("DELIMITED", A).identity, of("NONE").identity), of("JSON", A), "refused"),
    (merge_identities(of("DELIMITED", A).identity, of("NONE").identity), of("DELIMITED"), "same"),
    (by_name("JSON"), of("NONE"), "compatible"),
    (of("NONE"), columns_of("A INT", of("JSON", A).identity), "compatible"),
    (columns_of("A INT"), of("NONE"), "compatible"),
    # keys in SQL
    (key_format((A,), "KAFKA"), key_format((B,), "KAFKA"), "same"),
    (key_format((A,), "KAFKA"), key_format((Named("A", BIGINT),), "KAFKA"), "refused"),
    (key_format((A,), "KAFKA"), key_format((A,), "JSON"), "refused"),
    (key_format((A, C), "DELIMITED"), key_format((B, C), "DELIMITED"), "compatible"),
    (key_format((A, C), "JSON"), key_format((B, C), "JSON"), "refused"),
    (key_format((A, C), "JSON_SR"), key_format((B, C), "JSON_SR"), "refused"),
    (key_format((A,), "JSON"), key_format((B,), "JSON"), "same"),
    (key_format((A, C), "DELIMITED"), key_format((Named("A", BIGINT), C), "DELIMITED"), "refused"),
    (key_format((A, C), "JSON"), key_format((C, A), "JSON"), "refused"),
    (key_format((), "NONE"), key_format((A,), "KAFKA"), "refused"),
    # rows with columns of SQL
    (columns_of("A INT"), columns_of("A INT"), "same"),
    (columns_of("A INT"), columns_of("B INT"), "refused"),
    (columns_of("A\nB INT"), columns_of("A\nB INT"), "same"),
    (by_name("JSON", "A INT"), columns_of("A INT\nROWPARTITION INT", by_name("JSON", "A INT")), "compatible"),
    (by_name("JSON"), columns_of("A INT\nROWPARTITION INT", by_place("DELIMITED", [])), "refused"),
    (columns_of("A INT", by_name("JSON")), columns_of("A INT", by_name("JSON")), "same"),
    (columns_of("A INT", by_name("JSON")), columns_of("A INT", by_name("AVRO")), "refused"),
    (columns_of("A INT"), columns_of("A INT", by_name("JSON")), "compatible"),
    (columns_of("A INT", by_name("JSON")), columns_of("A INT"), "same"),
    (columns_of("A INT", by_name("JSON")), by_name("JSON"), "refused"),
]


@pytest.mark.parametrize("number", range(len(RULES)))
def test_the_rule(number: int) -> None:
    before, now, outcome = RULES[number]
    assert compare(before, now) == outcome, f"{before} -> {now}"


def schema(*, title: str = "", **keywords: Any) -> dict[str, Any]:
    """Return a JSON Schema of an object with a field that has the name of a keyword."""
    field = {"type": ["string", "null"], "description": f"{title} of a field", **keywords}
    return {"title": title, "type": "object", "properties": {"title": field}, "required": ["title", "a"]}


def swap(document: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with its members and its arrays in reverse order."""
    return {
        word: swap(value) if isinstance(value, dict) else value[::-1] if isinstance(value, list) else value
        for word, value in reversed(document.items())
    }


def ksml_avro(doc: str, name: str = "n", *, indent: int | None = None) -> Format[Any]:
    fields = [{"name": name, "type": "int", "doc": doc}]
    return avro_format("M", json.dumps({"type": "record", "name": "M", "fields": fields}, indent=indent))


def ksml_json(document: dict[str, Any], schema_id: int, indent: int | None = None) -> Format[Any]:
    return json_schema_format("M", json.dumps(document, indent=indent), schema_id, JSON)


def avro_place(schema_id: int) -> Format[Any]:
    fields = [{"name": "town", "type": "string"}, {"name": "number", "type": "long"}]
    return avro_key(Place, json.dumps({"type": "record", "name": "Place", "fields": fields}), schema_id)


ONE, OTHER = schema(title="one"), schema(title="other", default="x", examples=["y"])
STRICT = schema(title="one", maxLength=3)
SCHEMAS: list[tuple[Any, Any, str, str]] = [
    # before, now, outcome of values, outcome of keys
    (json_schema(ONE), json_schema(ONE), "same", "same"),
    (json_schema(ONE), json_schema(OTHER), "compatible", "compatible"),
    (json_schema(ONE), json_schema(swap(ONE)), "compatible", "compatible"),
    (json_schema(ONE, schema_id=7), json_schema(OTHER, schema_id=7), "compatible", "compatible"),
    (json_schema(ONE, schema_id=7), json_schema(ONE, schema_id=8), "compatible", "refused"),
    (json_schema(ONE), json_schema(STRICT), "compatible", "refused"),
    (json_schema({"const": {"title": 1}}), json_schema({"const": {"title": 2}}), "compatible", "refused"),
    (json_schema(ONE, Score), json_schema(ONE, Rating), "compatible", "refused"),
    (ksml_json(ONE, 7), ksml_json(OTHER, 7), "compatible", "compatible"),
    (ksml_json(ONE, 7), ksml_json(ONE, 7, indent=2), "compatible", "compatible"),
    (ksml_json(ONE, 7), ksml_json(OTHER, 8), "compatible", "refused"),
    (ksml_json(ONE, 7), ksml_json(STRICT, 7), "compatible", "refused"),
    # A registry may assign another id to this schema.
    (ksml_avro("one"), ksml_avro("one", indent=2), "compatible", "refused"),
    (ksml_avro("one"), ksml_avro("other"), "compatible", "refused"),
    (ksml_avro("one"), ksml_avro("one", "m"), "compatible", "refused"),
    (avro_place(7), avro_place(7), "same", "same"),
    (avro_place(7), avro_place(8), "compatible", "refused"),
    (proto("int32 a = 1;"), proto("/* text */ int32 a = 1 [deprecated = true];"), "same", "same"),
    # as earlier builds of 0.3 recorded them
    (by_name("JSON", json.dumps(ONE, sort_keys=True)), json_schema(ONE), "compatible", "compatible"),
    (by_name("JSON", json.dumps(ONE, sort_keys=True)), json_schema(STRICT), "compatible", "refused"),
    (by_name("JSON Schema", json.dumps(ONE)), ksml_json(ONE, 7), "compatible", "compatible"),
    (by_name("JSON Schema", json.dumps(STRICT)), ksml_json(ONE, 7), "compatible", "refused"),
    (by_place("AVRO", [("town", "text"), ("number", "long")]), avro_place(7), "compatible", "compatible"),
    *(
        (by_name("AVRO", json.dumps(schema_of)), avro_format("M", json.dumps(schema_of)), "same", "same")
        for schema_of in [{"name": "M", "type": "record", "doc": "text", "fields": []}]
    ),
]


@pytest.mark.parametrize("number", range(len(SCHEMAS)))
def test_of_a_schema_counts_what_changes_bytes(number: int) -> None:
    before, now, as_value, as_key = SCHEMAS[number]
    assert compare(before, now) == as_value, f"{before} -> {now}"
    assert compare(before, now, is_key=True) == as_key, f"{before} -> {now}"


@pytest.mark.parametrize(
    ("recorded", "declared", "is_alike"),
    [
        (json_schema(ONE).identity, json_schema(OTHER).identity, True),
        (by_name("JSON", json.dumps(ONE, sort_keys=True)), json_schema(ONE).identity, True),
        (json_schema(ONE).identity, json_schema(STRICT).identity, False),
        (json_schema(ONE, Score).identity, json_schema(ONE, Rating).identity, False),
        (json_of(Score).identity, json_of(Rating).identity, False),
        ("long", "long", True),
        ("long", "int", False),
    ],
)
def test_rows_are_decoded_only_if_more_than_the_wording_of_their_schema_differs(
    recorded: Identity, declared: Identity, is_alike: bool
) -> None:
    assert reads_alike(recorded, declared) == is_alike


def test_another_id_of_a_key_s_schema_is_named_in_the_refusal() -> None:
    with pytest.raises(Misread, match="had the id 7, and has 8: the id is a part of a key's bytes"):
        merge_identities(avro_place(7).identity, avro_place(8).identity, is_key=True)


KEYS: list[tuple[Any, Any, str]] = [
    (json_of(Score), json_of(Score), "same"),
    (json_of(Score), json_of(Rating), "refused"),
    (JSON, json_of(Score), "refused"),
    (windowed_format(json_of(Score), 10), windowed_format(json_of(Rating), 10), "refused"),
    (with_mark(json_of(Score).identity), with_mark(json_of(Rating).identity), "refused"),
    (composite(Place), composite(Renamed), "compatible"),
]


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_keys_must_be_written_as_before_and_not_only_read(number: int) -> None:
    before, now, outcome = KEYS[number]
    assert compare(before, now, is_key=True) == outcome, f"{before} -> {now}"


def test_a_field_with_another_number_is_named_in_the_refusal() -> None:
    with pytest.raises(Misread, match="the field a had the number 1: keep it, or"):
        merge_identities(proto("int32 a = 1;"), proto("int32 a = 3;"))


def test_a_removed_field_is_remembered_so_that_its_number_is_not_given_again() -> None:
    recorded = merge_identities(
        by_number("M", [(1, "a", "int32"), (2, "b", "string")]), by_number("M", [(1, "a", "int32")])
    )
    with pytest.raises(Misread):
        merge_identities(recorded, by_number("M", [(1, "a", "int32"), (2, "c", "int32")]))


def test_records_that_contain_themselves_have_a_shape() -> None:
    assert shape_of(Node) == "(below tuple[Node, any])"
    assert shape_of(Rating) == "(n int, note Union[str, NoneType])"


@pytest.mark.parametrize("rule", RULES)
def test_every_identity_has_words_of_one_line(rule: tuple[Any, Any, str]) -> None:
    for kind in rule[:2]:
        words = words_of(kind.identity if isinstance(kind, Format) else kind)
        assert words
        assert "\n" not in words


def test_messages_that_use_each_other_many_times_have_an_identity() -> None:
    messages = "".join(f"message M{n} {{ M{n + 1} a = 1; M{n + 1} b = 2; }} " for n in range(30))
    described = message_of(f'syntax = "proto3"; {messages} message M30 {{ int32 n = 1; }}')
    assert words_of(identity_of(described, "Protobuf")) == "Protobuf a message, b message"


class _Zone(tzinfo):
    """A time zone whose `repr` contains its address in memory, which differs between processes."""

    def utcoffset(self, _moment: datetime | None) -> timedelta:
        return timedelta()

    def dst(self, _moment: datetime | None) -> timedelta:
        return timedelta()

    def tzname(self, _moment: datetime | None) -> str:
        return "here"


class _Start(Enum):
    AT = object()


class _Weeks(Windows):
    size_ms, grace_ms = 10, 0

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)

    @cached_property
    def step(self) -> int:
        return 5

    def windows_for(self, ts: int) -> list[Window]:
        return [Window(ts, ts + self.size_ms)]


@pytest.mark.parametrize("make", [_Zone, lambda: _Start.AT, lambda: ("x", _Zone()), lambda: lambda: 1, object])
def test_windows_are_known_by_no_text_that_differs_between_processes(make: Callable[[], object]) -> None:
    assert " at 0x" not in _Weeks(first=3, by=make()).identity
    assert _Weeks(first=3, by=make()).identity == _Weeks(first=3, by=make()).identity != _Weeks(first=4).identity


def test_windows_whose_cached_properties_were_read_are_the_same() -> None:
    windows = _Weeks(first=3)
    before = windows.identity
    assert windows.step == 5
    assert windows.identity == before
