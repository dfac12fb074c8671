"""A record type with every type that contracts may have, its contract, and values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from forebay.records import FrozenMap
from forebay.serde import LocalSchemas, Schema
from tests.serde.paths import BothPaths


@dataclass(frozen=True, slots=True)
class Inner:
    name: str
    size: int | None


@dataclass(frozen=True, slots=True)
class Other:
    flag: bool


@dataclass(frozen=True, slots=True)
class Everything:
    text: str
    number: int
    small: int
    wide: float
    narrow: float
    flag: bool
    raw: bytes
    nothing: None
    colour: str
    maybe_text: str | None
    maybe_inner: Inner | None
    any_of: str | int | float | Inner | Other | None
    inner: Inner
    texts: tuple[str, ...]
    inners: tuple[Inner, ...]
    nested: tuple[tuple[int, ...], ...]
    counts: FrozenMap[str, int]
    inner_by_name: FrozenMap[str, Inner]
    last: str


INNER = {
    "type": "record",
    "name": "Inner",
    "fields": [{"name": "name", "type": "string"}, {"name": "size", "type": ["null", "long"]}],
}
OTHER = {"type": "record", "name": "Other", "fields": [{"name": "flag", "type": "boolean"}]}
CONTRACT: dict[str, Any] = {
    "type": "record",
    "name": "Everything",
    "namespace": "tests",
    "fields": [
        {"name": "text", "type": "string"},
        {"name": "number", "type": "long"},
        {"name": "small", "type": "int"},
        {"name": "wide", "type": "double"},
        {"name": "narrow", "type": "float"},
        {"name": "flag", "type": "boolean"},
        {"name": "raw", "type": "bytes"},
        {"name": "nothing", "type": "null"},
        {"name": "colour", "type": {"type": "enum", "name": "Colour", "symbols": ["RED", "GREEN"]}},
        {"name": "maybe_text", "type": ["null", "string"]},
        {"name": "maybe_inner", "type": ["null", INNER]},
        {"name": "any_of", "type": ["string", "long", "double", "Inner", OTHER, "null"]},
        {"name": "inner", "type": "Inner"},
        {"name": "texts", "type": {"type": "array", "items": "string"}},
        {"name": "inners", "type": {"type": "array", "items": "Inner"}},
        {"name": "nested", "type": {"type": "array", "items": {"type": "array", "items": "long"}}},
        {"name": "counts", "type": {"type": "map", "values": "long"}},
        {"name": "inner_by_name", "type": {"type": "map", "values": "Inner"}},
        {"name": "last", "type": "string"},
    ],
}

texts = st.text(max_size=80)
longs = (
    st.integers(-(2**63), 2**63 - 1) | st.integers(-20_000, 20_000) | st.integers(1_600_000_000_000, 1_900_000_000_000)
)
inners = st.builds(Inner, texts, st.none() | longs)
doubles = st.floats(allow_nan=False)
everything = st.builds(
    Everything,
    text=texts,
    number=longs,
    small=st.integers(-(2**31), 2**31 - 1),
    wide=doubles,
    narrow=st.floats(allow_nan=False, width=32),
    flag=st.booleans(),
    raw=st.binary(max_size=200),
    nothing=st.none(),
    colour=st.sampled_from(["RED", "GREEN"]),
    maybe_text=st.none() | texts,
    maybe_inner=st.none() | inners,
    any_of=texts | longs | doubles | inners | st.builds(Other, st.booleans()) | st.none(),
    inner=inners,
    texts=st.lists(texts, max_size=5).map(tuple),
    inners=st.lists(inners, max_size=70).map(tuple),
    nested=st.lists(st.lists(longs, max_size=4).map(tuple), max_size=4).map(tuple),
    counts=st.dictionaries(texts, longs, max_size=5).map(FrozenMap),
    inner_by_name=st.dictionaries(texts, inners, max_size=3).map(FrozenMap),
    last=texts,
)


def schema(document: object) -> Schema:
    return Schema(json.dumps(document))


def codec_of(record_type: type, document: object, schemas: LocalSchemas | None = None) -> BothPaths:
    """Return the codec of a record type with this JSON contract. It compares both implementations at every call."""
    schemas = schemas or LocalSchemas()
    return BothPaths(record_type, schemas.register(schema(document)), schemas)
