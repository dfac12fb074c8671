"""Records of older and newer writers are read as the reader's type, or rejected with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.records import FrozenMap
from forebay.serde import LocalSchemas, Schema
from forebay.serde.framing import header
from tests.serde.everything import codec_of, schema


@dataclass(frozen=True, slots=True)
class Place:
    city: str | None


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    amount: float
    note: str | None
    tags: tuple[str, ...]
    counts: FrozenMap[str, int]
    place: Place
    colour: str


PLACE = {"type": "record", "name": "Place", "fields": [{"name": "city", "type": ["null", "string"], "default": None}]}
COLOUR = {"type": "enum", "name": "Colour", "symbols": ["RED", "OTHER"], "default": "OTHER"}
FIELDS: dict[str, Any] = {
    "name": {"type": "string", "aliases": ["title"]},
    "amount": {"type": "double"},
    "note": {"type": ["null", "string"], "default": None},
    "tags": {"type": {"type": "array", "items": "string"}, "default": ["none"]},
    "counts": {"type": {"type": "map", "values": "long"}, "default": {"a": 1}},
    "place": {"type": PLACE, "default": {"city": None}},
    "colour": {"type": COLOUR, "default": "RED"},
}


def contract(fields: dict[str, Any], name: str = "Event") -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, **field} for key, field in fields.items()]}


def written_by(writer: object, record: object) -> tuple[LocalSchemas, bytes, int]:
    schemas = LocalSchemas()
    registered = schemas.register(schema(writer))
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(writer), record)  # type: ignore[arg-type]
    return schemas, header(registered.schema_id) + buffer.getvalue(), registered.schema_id


def read(writer: object, record: object, reader: object | None = None) -> Any:
    schemas, data, _ = written_by(writer, record)
    return codec_of(Event, reader or contract(FIELDS), schemas).decode(data)


DEFAULTS = Event("a", 1.0, None, ("none",), FrozenMap({"a": 1}), Place(None), "RED")


def test_an_older_writer_lacks_fields_that_have_defaults() -> None:
    older = contract({key: FIELDS[key] for key in ("name", "amount")})
    assert read(older, {"name": "a", "amount": 1.0}) == DEFAULTS


def test_a_newer_writer_has_fields_we_do_not_know() -> None:
    every_type: dict[str, Any] = {
        "n": {"type": "null"},
        "b": {"type": "boolean"},
        "i": {"type": "int"},
        "l": {"type": "long"},
        "f": {"type": "float"},
        "d": {"type": "double"},
        "y": {"type": "bytes"},
        "s": {"type": "string"},
        "x": {"type": {"type": "fixed", "name": "Hash", "size": 4}},
        "e": {"type": {"type": "enum", "name": "Suit", "symbols": ["HEARTS"]}},
        "a": {"type": {"type": "array", "items": "Hash"}},
        "m": {"type": {"type": "map", "values": "Suit"}},
        "u": {"type": ["null", {"type": "record", "name": "New", "fields": [{"name": "x", "type": "long"}]}]},
    }
    newer = contract({**every_type, "name": FIELDS["name"], "amount": FIELDS["amount"]})
    unknown = {
        "n": None, "b": True, "i": 7, "l": -(2**63), "f": 0.5, "d": 0.5, "y": b"raw", "s": "x" * 100, "x": b"1234",
        "e": "HEARTS", "a": [b"1234"] * 3, "m": {"k": "HEARTS"}, "u": {"x": 1},
    }  # fmt: skip
    assert read(newer, {**unknown, "name": "a", "amount": 1.0}) == DEFAULTS


def test_fields_come_in_the_order_of_the_writer() -> None:
    assert read(contract({key: FIELDS[key] for key in ("amount", "name")}), {"name": "a", "amount": 1.0}) == DEFAULTS


def test_fields_are_found_by_our_aliases() -> None:
    renamed = contract({"title": {"type": "string"}, "amount": {"type": "double"}})
    assert read(renamed, {"title": "a", "amount": 1.0}) == DEFAULTS


@pytest.mark.parametrize("written", ["int", "long", "float", "double"])
def test_numbers_are_promoted(written: str) -> None:
    amount = read(contract({"name": FIELDS["name"], "amount": {"type": written}}), {"name": "a", "amount": 3}).amount
    assert (type(amount), amount) == (float, 3.0)


def test_bytes_are_read_as_a_string() -> None:
    writer = contract({"name": {"type": "bytes"}, "amount": {"type": "double"}})
    assert read(writer, {"name": "é".encode(), "amount": 1.0}).name == "é"


def test_a_plain_type_is_read_as_a_union_and_a_union_as_a_plain_type() -> None:
    writer = contract({"name": {"type": ["null", "string"]}, "amount": {"type": "double"}, "note": {"type": "string"}})
    event = read(writer, {"name": "a", "amount": 1.0, "note": "n"})
    assert (event.name, event.note) == ("a", "n")


def test_unions_may_list_their_branches_in_another_order() -> None:
    writer = contract({"name": {"type": "string"}, "amount": {"type": "double"}, "note": {"type": ["string", "null"]}})
    assert read(writer, {"name": "a", "amount": 1.0, "note": None}).note is None
    assert read(writer, {"name": "a", "amount": 1.0, "note": "n"}).note == "n"


def test_a_symbol_we_do_not_know_becomes_our_default() -> None:
    green = {"type": "enum", "name": "Colour", "symbols": ["GREEN", "RED"]}
    writer = contract({"name": FIELDS["name"], "amount": FIELDS["amount"], "colour": {"type": green}})
    assert read(writer, {"name": "a", "amount": 1.0, "colour": "GREEN"}).colour == "OTHER"
    assert read(writer, {"name": "a", "amount": 1.0, "colour": "RED"}).colour == "RED"


def test_logical_types_are_read_as_what_they_annotate() -> None:
    @dataclass(frozen=True, slots=True)
    class Stamp:
        at: int

    ours = {"type": "record", "name": "Stamp", "fields": [{"name": "at", "type": "long"}]}
    theirs = {
        "type": "record",
        "name": "Stamp",
        "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
    }
    schemas = LocalSchemas()
    codec = codec_of(Stamp, ours, schemas)
    writer = codec_of(Stamp, theirs, schemas)
    assert codec.decode(writer.encode(Stamp(5))) == Stamp(5)


def test_the_same_schema_under_another_id_is_read_by_the_same_plan() -> None:
    schemas = LocalSchemas()
    codec = codec_of(Event, contract(FIELDS), schemas)
    documented = {**contract(FIELDS), "doc": "the same, with words"}
    data = codec_of(Event, documented, schemas).encode(DEFAULTS)
    assert codec.decode(data) == DEFAULTS
    assert len({id(plan) for plan in codec.native._plans.values()}) == 1


def refusal(writer: object, record: object, reader: object | None = None) -> str:
    with pytest.raises(DecodeError) as caught:
        read(writer, record, reader)
    return str(caught.value)


def test_a_required_field_that_the_writer_does_not_have() -> None:
    assert "no field amount, which is required" in refusal(contract({"name": FIELDS["name"]}), {"name": "a"})


def test_a_required_field_that_is_null() -> None:
    writer = contract({"name": {"type": ["null", "string"]}, "amount": {"type": "double"}})
    assert "Event.name: the writer's type null can't be read as string" in refusal(
        writer, {"name": None, "amount": 1.0}
    )


def test_a_field_of_the_wrong_type() -> None:
    writer = contract({"name": {"type": "long"}, "amount": {"type": "double"}})
    assert "Event.name: the writer's type long can't be read as string" in refusal(writer, {"name": 5, "amount": 1.0})


def test_another_record() -> None:
    assert "Stranger can't be read as Event" in refusal(contract(FIELDS, "Stranger"), DEFAULT_PLAIN)


def test_a_symbol_unknown_and_without_default() -> None:
    strict = {**FIELDS, "colour": {"type": {"type": "enum", "name": "Colour", "symbols": ["RED"]}}}
    assert "unknown to the contract" in refusal(
        contract(FIELDS), {**DEFAULT_PLAIN, "colour": "OTHER"}, contract(strict)
    )


@pytest.mark.parametrize("text", ["no json", '{"type": "record"}', '"nonsense"', "5", "[]]"])
def test_invalid_writer_schema_is_refused(text: str) -> None:
    schemas = LocalSchemas()
    schema_id = schemas.register(Schema(text)).schema_id
    with pytest.raises(DecodeError, match=f"schema {schema_id} can't be used: not an Avro schema"):
        codec_of(Event, contract(FIELDS), schemas).decode(header(schema_id))


def test_writer_schema_with_injected_code_is_refused() -> None:
    size: Any = "0]; raise SystemExit('injected'); d[0:0"
    schemas = LocalSchemas()
    writer = contract({"x": {"type": {"type": "fixed", "name": "Hash", "size": size}}, **FIELDS})
    schema_id = schemas.register(schema(writer)).schema_id
    with pytest.raises(DecodeError, match=f"the writer's schema {schema_id} can't be used"):
        codec_of(Event, contract(FIELDS), schemas).decode(header(schema_id))


def test_a_writers_schema_that_is_nested_too_deeply() -> None:
    deep: dict[str, Any] = {"type": "array", "items": "long"}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    schemas = LocalSchemas()
    schema_id = schemas.register(schema(contract({"x": {"type": deep}, **FIELDS}))).schema_id
    with pytest.raises(DecodeError, match="nested too deeply"):
        codec_of(Event, contract(FIELDS), schemas).decode(header(schema_id))


def test_a_writers_schema_that_contains_itself() -> None:
    schemas = LocalSchemas()
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    schema_id = schemas.register(schema(node)).schema_id
    with pytest.raises(DecodeError, match="recursive schemas are not supported"):
        codec_of(Event, contract(FIELDS), schemas).decode(header(schema_id))


DEFAULT_PLAIN = {
    "name": "a", "amount": 1.0, "note": None, "tags": [], "counts": {}, "place": {"city": None}, "colour": "RED",
}  # fmt: skip
