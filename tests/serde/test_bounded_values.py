"""Digits and nesting of values in a writer's schema are checked before the values are converted."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from forebay.codec import DecodeError
from forebay.serde import LocalSchemas
from forebay.serde.framing import header
from forebay.serde.generic import GenericDecoder
from forebay.serde.schema import Schema
from forebay.serde.varint import integer_bytes

SIZE = 100_000
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
FIXED = {**PRICE, "type": "fixed", "name": "Amount", "size": SIZE}
BYTES = integer_bytes(SIZE) + b"\x7f" * SIZE
NODE = {
    "type": "record",
    "name": "Node",
    "namespace": "a",
    "fields": [{"name": "next", "type": ["null", "Node"]}, {"name": "price", "type": ["null", PRICE]}],
}
NONE, SOME = b"\0", b"\2"


def read(schema: Any, body: bytes, *, plain: bool) -> Any:
    schemas = LocalSchemas()
    record = {"type": "record", "name": "Shown", "fields": [{"name": "a", "type": schema}]}
    schema_id = schemas.register(Schema(json.dumps(record))).schema_id
    return GenericDecoder(schemas, plain=plain).decode(header(schema_id) + body)["a"]


@pytest.mark.parametrize("plain", [True, False], ids=["sql", "shown"])
@pytest.mark.parametrize(
    ("schema", "body"),
    [
        (PRICE, BYTES),
        (FIXED, b"\x7f" * SIZE),
        (["null", PRICE], SOME + BYTES),
        ({"type": "array", "items": PRICE}, SOME + BYTES + b"\0"),
        ({"type": "map", "values": PRICE}, SOME + SOME + b"k" + BYTES + b"\0"),
        (NODE, SOME + NONE + SOME + BYTES + NONE),
    ],
    ids=["bytes", "fixed", "union", "array", "map", "recursive"],
)
def test_a_decimal_of_many_bytes_is_refused_by_its_digits(schema: Any, body: bytes, plain: bool) -> None:
    with pytest.raises(DecodeError, match=r"a decimal\(10, 2\) holds more than 10 digits"):
        read(schema, body, plain=plain)


@pytest.mark.parametrize("plain", [True, False], ids=["sql", "shown"])
def test_decimals_within_their_digits_are_exact(plain: bool) -> None:
    assert read(PRICE, b"\x04\x30\x39", plain=plain) == Decimal("123.45")
    assert read({**FIXED, "size": 5}, b"\xff\xff\xff\xcf\xc7", plain=plain) == Decimal("-123.45")
    assert read({**FIXED, "size": SIZE}, b"\0" * (SIZE - 2) + b"\x30\x39", plain=plain) == Decimal("123.45")


def test_a_chain_of_records() -> None:
    value = read(NODE, SOME + SOME + NONE + NONE + NONE + SOME + b"\x02\x01", plain=True)
    assert value == {"next": {"next": {"next": None, "price": None}, "price": None}, "price": Decimal("0.01")}


@pytest.mark.parametrize("levels", [201, 1_000_000])
def test_a_chain_of_many_records_is_refused(levels: int) -> None:
    with pytest.raises(DecodeError, match="nested more than 200 levels"):
        read(NODE, SOME * levels + NONE * (levels + 2), plain=True)


TREE = {
    "type": "record",
    "name": "Tree",
    "fields": [
        {"name": "nulls", "type": {"type": "array", "items": "null"}},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "size", "type": {"type": "fixed", "name": "Size", "size": 2}},
        {"name": "text", "type": ["null", "string"]},
        {"name": "number", "type": {"type": "double"}},
        {"name": "children", "type": {"type": "map", "values": "Tree"}},
    ],
}
LEAF = b"\0\2ab\2\2x" + b"\0" * 8 + b"\0"


def test_a_tree_of_every_type() -> None:
    value = read(TREE, LEAF[:-1] + b"\2\2k" + LEAF + b"\0", plain=True)
    leaf = {"nulls": [], "kind": "B", "size": b"ab", "text": "x", "number": 0.0, "children": {}}
    assert value == {**leaf, "children": {"k": leaf}}


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (b"\x80\xfa\x01" + b"\0" * 100, "a block says 16000 items"),
        (b"\xa0\x9c\x01" * 100 + b"\0" * 10_000, "unfold into more than"),
        (LEAF[:4], "truncated"),
        (LEAF[:-2], "truncated"),
        (LEAF[:4] + b"\4", "the union has 2 branches"),
    ],
    ids=["a large block", "many nulls", "an early end", "no last number", "no such branch"],
)
def test_invalid_trees(body: bytes, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        read(TREE, body, plain=True)
