"""If types of a schema contain themselves, the columns are limited and do not depend on the order of fields."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from forebay.serde.proto_messages import message_of
from forebay.sql.schemas import avro, json_schema, protobuf
from forebay.sql.schemas.nesting import TooManyFields
from forebay.sql.types import ArrayType, MapType, SqlType, StructType

Graph = dict[str, list[tuple[str, str, str]]]
"""Fields by type: name, type ("" for a number), and the form in which the field contains the type."""


def proto_type(graph: Graph) -> SqlType | None:
    messages = []
    for name, fields in graph.items():
        shown = {"one": "{}", "list": "repeated {}", "map": "map<string, {}>"}
        lines = [f"{shown[how].format(kind or 'int32')} {field} = {int(field[1:]) + 1};" for field, kind, how in fields]
        messages.append(f"message {name} {{ {' '.join(lines)} }}")
    return protobuf.type_of(message_of(f'syntax = "proto3"; {" ".join(messages)}', "T0"))


def json_type(graph: Graph) -> SqlType | None:
    def part(kind: str, how: str) -> Any:
        inner = {"$ref": f"#/d/{kind}"} if kind else {"type": "integer"}
        if how == "list":
            return {"type": "array", "items": inner}
        return {"type": "object", "additionalProperties": inner} if how == "map" else inner

    types = {
        name: {"type": "object", "properties": {field: part(kind, how) for field, kind, how in fields}}
        for name, fields in graph.items()
    }
    return json_schema.type_of(json.dumps({"$ref": "#/d/T0", "d": types}))


def avro_type(graph: Graph) -> SqlType | None:
    defined = set[str]()

    def record(name: str) -> Any:
        if name in defined:
            return f"n.{name}"
        defined.add(name)
        fields = [{"name": field, "type": part(kind, how)} for field, kind, how in graph[name]]
        return {"type": "record", "name": name, "namespace": "n", "fields": fields}

    def part(kind: str, how: str) -> Any:
        inner = record(kind) if kind else "int"
        if how == "list":
            return {"type": "array", "items": inner}
        if how == "map":
            return {"type": "map", "values": inner}
        # SQL can't represent this field, but it may define a type that another field uses.
        return ["null", inner, "string"] if how == "choice" else ["null", inner]

    return avro.type_of(json.dumps(record("T0")))


READERS: dict[str, tuple[Callable[[Graph], SqlType | None], list[str]]] = {
    "PROTOBUF": (proto_type, ["one", "list", "map"]),
    "JSON_SR": (json_type, ["one", "list", "map"]),
    "AVRO": (avro_type, ["one", "list", "map", "choice"]),
}


def without_order(kind: SqlType | None) -> Any:
    match kind:
        case StructType(fields):
            return frozenset((name, without_order(item)) for name, item in fields)
        case ArrayType(item):
            return ("list", without_order(item))
        case MapType(_, item):
            return ("map", without_order(item))
    return str(kind)


def some_graph(draw: Callable[[Any], Any], ways: list[str]) -> Graph:
    names = [f"T{number}" for number in range(draw(some.integers(1, 4)))]
    kinds = some.tuples(some.sampled_from(["", *names]), some.sampled_from(ways))
    return {name: [(f"f{at}", *kind) for at, kind in enumerate(draw(some.lists(kinds, max_size=4)))] for name in names}


@pytest.mark.parametrize("name", READERS)
@given(some.data())
def test_the_order_of_fields_changes_no_column(name: str, data: Any) -> None:
    type_of, ways = READERS[name]
    graph = some_graph(data.draw, ways)
    shuffled = {name: data.draw(some.permutations(fields)) for name, fields in graph.items()}
    results = []
    for fields in (graph, shuffled):
        try:
            results.append(without_order(type_of(fields)))
        except TooManyFields:
            results.append("too many")
    assert results[0] == results[1]


@pytest.mark.parametrize("name", READERS)
def test_a_type_has_all_fields_but_those_whose_types_contain_it(name: str) -> None:
    graph = {
        "T0": [("f0", "T1", "one"), ("f1", "T2", "one"), ("f2", "", "one")],
        "T1": [("f0", "T2", "one"), ("f1", "", "one")],
        "T2": [("f0", "T1", "one"), ("f1", "T0", "one"), ("f2", "", "one")],
    }
    assert str(READERS[name][0](graph)).replace("BIGINT", "INTEGER") == (
        "STRUCT<`f0` STRUCT<`f0` STRUCT<`f2` INTEGER>, `f1` INTEGER>, "
        "`f1` STRUCT<`f0` STRUCT<`f1` INTEGER>, `f2` INTEGER>, `f2` INTEGER>"
    )


@pytest.mark.parametrize("name", READERS)
def test_mutually_recursive_types_with_too_many_fields_are_refused(name: str) -> None:
    names = [f"T{number}" for number in range(20)]
    graph = {name: [(f"f{at}", kind, "one") for at, kind in enumerate(names)] for name in names}
    with pytest.raises(TooManyFields):
        READERS[name][0](graph)


@pytest.mark.parametrize("name", READERS)
def test_types_that_are_used_twice_at_each_level_are_read_once(name: str) -> None:
    graph = {f"T{n}": [(f"f{at}", f"T{n + 1}", "one") for at in range(2)] for n in range(40)} | {"T40": []}
    kind = READERS[name][0](graph)
    for _ in range(40):
        assert isinstance(kind, StructType)
        assert kind.fields[0][1] is kind.fields[1][1]
        kind = kind.fields[0][1]


def test_a_map_as_a_list_of_entries_whose_values_contain_it_is_omitted() -> None:
    entry = {"type": "record", "name": "E", "connect.internal.type": "MapEntry"}
    entry["fields"] = [{"name": "key", "type": "string"}, {"name": "value", "type": ["null", "R"]}]  # type: ignore[assignment]
    fields = [{"name": "n", "type": "int"}, {"name": "m", "type": {"type": "array", "items": entry}}]
    assert str(avro.type_of(json.dumps({"type": "record", "name": "R", "fields": fields}))) == "STRUCT<`n` INTEGER>"
    item = {"type": "object", "properties": {"key": {"type": "string"}, "value": {"$ref": "#"}}}
    listed = {"type": "array", "connect.type": "map", "items": item}
    document = {"type": "object", "properties": {"n": {"type": "boolean"}, "m": listed}}
    assert str(json_schema.type_of(json.dumps(document))) == "STRUCT<`n` BOOLEAN>"
