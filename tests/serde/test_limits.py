"""Decoding a few untrusted bytes is cheap with any schema."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.codec import DecodeError
from forebay.serde import InvalidSchema, LocalSchemas, Schema
from forebay.serde.framing import header
from forebay.serde.generic import GenericDecoder
from forebay.serde.limits import MAX_DEPTH, MAX_TYPES, most_values
from tests.serde.everything import codec_of, schema
from tests.serde.paths import NATIVE, BothPaths


@dataclass(frozen=True, slots=True)
class Plain:
    last: int


CONTRACT = {"type": "record", "name": "Plain", "fields": [{"name": "last", "type": "long"}]}
NULLS = {"type": "array", "items": "null"}


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail if the process uses more CPU time (s) in the block."""
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def doubling(levels: int, innermost: Any = "null") -> Any:
    """Return a record type of 2**levels values whose schema text grows by only a few bytes per level."""
    inner: dict[str, Any] = {"type": "record", "name": "R0", "fields": [{"name": "a", "type": innermost}]}
    for level in range(1, levels + 1):
        fields: list[dict[str, Any]] = [{"name": "a", "type": inner}, {"name": "b", "type": f"R{level - 1}"}]
        inner = {"type": "record", "name": f"R{level}", "fields": fields}
    return inner


def written(first: Any) -> tuple[BothPaths, bytes]:
    """Return a codec and a record header of a writer that has a field of type `first` before the reader's fields."""
    schemas = LocalSchemas()
    writer = {**CONTRACT, "fields": [{"name": "first", "type": first}, *CONTRACT["fields"]]}
    schema_id = schemas.register(schema(writer)).schema_id
    return codec_of(Plain, CONTRACT, schemas), header(schema_id)


def refusal(codec: BothPaths, data: bytes) -> str:
    with pytest.raises(DecodeError) as caught:
        codec.decode(data)
    return str(caught.value)


def test_a_schema_of_two_kilobytes_that_expands_to_a_million_types() -> None:
    codec, head = written(doubling(18))
    with within(1):
        assert "expands to 786433 types, counting a named one" in refusal(codec, head + b"\2")


def test_a_schema_that_doubles_more_often_than_can_be_counted_by_walking() -> None:
    with within(1), pytest.raises(InvalidSchema, match=rf"at most {MAX_TYPES} are supported"):
        _ = Schema(json.dumps(doubling(45))).type


def test_two_equal_schemas_with_types_used_often_are_compared_quickly() -> None:
    codec, head = written(doubling(10))
    with within(1):
        assert codec.decode(head + b"\2") == Plain(1)


@pytest.mark.parametrize(("levels", "fits"), [(MAX_DEPTH - 2, True), (MAX_DEPTH - 1, False)])
def test_types_within_types(levels: int, fits: bool) -> None:
    deep: Any = "null"
    for _ in range(levels):
        deep = {"type": "array", "items": deep}
    codec, head = written(deep)
    if fits:
        assert codec.decode(head + b"\0\2") == Plain(1)
    else:
        assert f"nested too deeply: {MAX_DEPTH + 1} levels" in refusal(codec, head + b"\0\2")


@pytest.mark.parametrize("levels", [100, 300, 400, 450, 480, 600, 900, 3000])
def test_types_far_beyond_what_python_can_walk(levels: int) -> None:
    text = '{"type": "array", "items": ' * levels + '"null"' + "}" * levels
    with pytest.raises(InvalidSchema, match=r"nested too deeply|RecursionError"):
        _ = Schema(text).type


def test_arrays_of_arrays_of_null() -> None:
    codec, head = written({"type": "array", "items": NULLS})
    inner = b"\xfe\xff\x03\0"  # a block of 32,767 nulls
    body = b"\x80\xfa\x01" + inner * 16_000 + b"\0\2"
    with within(10):
        says = refusal(codec, head + body)
    assert says.startswith("Plain: 64010 bytes unfold into more than 522080 values")
    if NATIVE is not None:
        with within(0.2), pytest.raises(DecodeError):
            codec.native.decode(head + body)


def test_a_block_with_more_nulls_than_the_record_has_bytes() -> None:
    codec, head = written(NULLS)
    assert "a block says 1000 items, more than the 9 bytes" in refusal(codec, head + b"\xd0\x0f\0\2")


@pytest.mark.long
def test_many_records_without_bytes_of_their_own() -> None:
    codec, head = written({"type": "array", "items": doubling(11)})
    size = 4_096
    data = (head + b"\x80\x3e" + b"\0" * size)[:size]  # 4,000 records of 2**11 nulls
    with within(5):
        says = refusal(codec, data)
    assert says == f"Plain: {size} bytes unfold into more than {most_values(size)} values; no record needs as many"


@pytest.mark.parametrize("precision", [1_001, 10**9])
def test_a_decimal_with_too_many_digits(precision: int) -> None:
    codec, head = written({"type": "bytes", "logicalType": "decimal", "precision": precision})
    with within(1):
        assert f"a decimal of {precision} digits is beyond the 1000 supported" in refusal(codec, head + b"\2\1\2")


def test_a_schema_of_megabytes() -> None:
    text = json.dumps({**CONTRACT, "doc": "x" * 1_000_000})
    with pytest.raises(InvalidSchema, match="is longer than 1000000"):
        _ = Schema(text).type


def test_a_fixed_type_larger_than_memory() -> None:
    codec, head = written({"type": "fixed", "name": "Huge", "size": 2**62})
    with within(1):
        assert "truncated" in refusal(codec, head + b"\2")


def test_record_of_a_megabyte_is_accepted() -> None:
    codec, head = written({"type": "array", "items": "string"})
    body = b"\x80\x89\x7a" + b"\0" * 1_000_000 + b"\0\2"
    assert codec.native.decode(head + body) == Plain(1)


@pytest.mark.long
@pytest.mark.parametrize(
    ("first", "body", "says"),
    [
        (doubling(18), b"\2", "expands to 786432 types"),
        ({"type": "array", "items": NULLS}, b"\x80\xfa\x01" + b"\xfe\xff\x03\0" * 16_000 + b"\0\2", "unfold into more"),
    ],
    ids=["doublings", "nulls"],
)
def test_records_shown_to_people_are_limited_too(first: Any, body: bytes, says: str) -> None:
    schemas = LocalSchemas()
    writer = {"type": "record", "name": "Shown", "fields": [{"name": "first", "type": first}]}
    head = header(schemas.register(schema(writer)).schema_id)
    with within(10), pytest.raises(DecodeError, match=says):
        GenericDecoder(schemas).decode(head + body)
