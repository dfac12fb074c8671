"""A key of several fields always has the same bytes and row key, and row keys sort by the fields."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.builder import Topology
from forebay.codec import DecodeError, EncodeError
from forebay.formats import Format, key_reader, key_writer, no_contracts
from forebay.serde import ContractMismatch
from forebay.serde.key_formats import avro_key, composite
from tests.dsl.driving import Driven


@dataclass(frozen=True, slots=True)
class Place:
    town: str
    number: int


@dataclass(frozen=True, slots=True)
class Every:
    text: str
    data: bytes
    whole: int
    number: float
    flag: bool
    ident: uuid.UUID


PLACE = json.dumps(
    {
        "type": "record",
        "name": "Place",
        "fields": [{"name": "town", "type": "string"}, {"name": "number", "type": "long"}],
    }
)
AVRO, COMPOSITE, EVERY = avro_key(Place, PLACE, 7), composite(Place), composite(Every)
places = st.builds(Place, st.text(), st.integers(-(1 << 63), (1 << 63) - 1))


@pytest.mark.parametrize("kind", [AVRO, COMPOSITE], ids=str)
@given(key=places, other=places)
def test_bytes_and_rows_identify_the_key(kind: Format[Place], key: Place, other: Place) -> None:
    codec = kind.codec(no_contracts)
    data = codec.encode(key)
    assert codec.decode(data) == key
    assert key_writer(kind)(key_reader(kind)(data)) == data
    assert kind.row is not None
    before = (key.town.encode(), key.number) < (other.town.encode(), other.number)
    assert (kind.row(key).encode() < kind.row(other).encode()) == before


@given(
    st.builds(Every, st.text(), st.binary(), st.integers(-9, 9), st.floats(allow_nan=False), st.booleans(), st.uuids())
)
def test_a_field_may_be_of_any_scalar_type(key: Every) -> None:
    assert EVERY.codec(no_contracts).decode(EVERY.codec(no_contracts).encode(key)) == key
    assert EVERY.row is not None
    assert EVERY.of_row is not None
    assert EVERY.of_row(EVERY.row(key)) == key


def test_an_avro_key_is_written_in_confluent_framing() -> None:
    assert AVRO.codec(no_contracts).encode(Place("a", 1)) == b"\0\0\0\0\7\2a\2"


def test_a_key_of_another_schema_is_refused() -> None:
    with pytest.raises(
        DecodeError, match=r"written with the schema 8, not with 7, and equal keys would be in different part"
    ):
        AVRO.codec(no_contracts).decode(b"\0\0\0\0\x08\2a\2")


@pytest.mark.parametrize(
    "data", [b"", b"\0\0\0", b"\0\0\0\2a", COMPOSITE.codec(no_contracts).encode(Place("a", 1)) + b"x"]
)
def test_bytes_that_are_no_key_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"bytes are not a valid Place"):
        COMPOSITE.codec(no_contracts).decode(data)


def test_another_record_is_refused() -> None:
    with pytest.raises(EncodeError, match="is not a valid Place"):
        COMPOSITE.codec(no_contracts).encode("a")  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Loose:
    town: str | None


@dataclass(frozen=True, slots=True)
class Named:
    name: str


def test_unsupported_key_field_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Loose.town is .*: a key's fields are one of str, bytes, int"):
        composite(Loose)
    with pytest.raises(ContractMismatch):
        avro_key(Named, PLACE, 7)


@pytest.mark.parametrize("kind", [AVRO, COMPOSITE], ids=str)
def test_topology_groups_by_a_composite_key_in_several_tasks(kind: Format[Any]) -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str, key=kind)
        words.map_values(lambda key, _: key.town, str).to("towns")
        words.group_by(lambda key, word: Place(word, key.number), kind).count(store="n").to_stream().to("counts")

    run = Driven(build, tasks=3)
    run.feed("in", (Place("a", 1), "x", 1), (Place("b", 1), "x", 2), (Place("a", 2), "x", 3))
    assert run.by_topic("towns") == [(Place("a", 1), "a", 1), (Place("b", 1), "b", 2), (Place("a", 2), "a", 3)]
    assert run.by_topic("counts") == [(Place("x", 1), 1, 1), (Place("x", 1), 2, 2), (Place("x", 2), 1, 3)]
    run.driver.pipe_bytes(b"rubbish", b"x", 4, "in")
    (refused,) = run.driver.errors
    assert (refused.key, refused.value, refused.headers["error.stage"]) == (b"rubbish", b"x", "decode")
