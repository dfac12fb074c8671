"""Values for Avro fields of another type are converted as in KSML: texts are parsed, and numbers become texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from forebay.codec import DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.ksml.avro import avro_format
from forebay.serde.varint import integer_bytes


def read_back(kind: Any, value: Any) -> Any:
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]})
    codec = avro_format("R", text).codec(no_contracts)
    return codec.decode(codec.encode({"f": value}))["f"]


@pytest.mark.parametrize(
    ("kind", "value", "read"),
    [
        ("long", "1700000000000", 1_700_000_000_000),
        ("int", "-5", -5),
        ("double", "1.5e3", 1500.0),
        ("float", "2", 2.0),
        ("boolean", "TRUE", True),
        ("string", 5, "5"),
        ("string", True, "true"),
        (["null", "long"], "7", 7),
        (["null", "long"], None, None),
        (["null", "string"], 7, "7"),
        ({"type": "array", "items": "long"}, ["1", 2], [1, 2]),
        ({"type": "map", "values": "int"}, {"a": "1"}, {"a": 1}),
    ],
)
def test_a_value_is_converted_to_the_type_of_its_field(kind: Any, value: Any, read: Any) -> None:
    assert read_back(kind, value) == read


@pytest.mark.parametrize(
    ("kind", "value"),
    [("long", "x"), ("long", "1_0"), ("long", "1.5"), ("double", "nan"), ("boolean", "yes"), (["null", "long"], "x")],
)
def test_a_text_that_is_none_of_the_type_is_refused(kind: Any, value: Any) -> None:
    with pytest.raises(EncodeError, match="does not fit the schema R"):
        read_back(kind, value)


UUID = "123e4567-e89b-12d3-a456-426614174000"
DAY_MS = 86_400_000


def logical(kind: str, name: str) -> dict[str, str]:
    return {"type": kind, "logicalType": name}


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (logical("string", "uuid"), [UUID, UUID.upper(), "1-2-3-4-5"], ["", "not-a-uuid", f"{UUID}0", UUID[:-13]]),
        (logical("int", "time-millis"), [0, DAY_MS - 1], [-1, DAY_MS, 2**31 - 1, str(DAY_MS)]),
        (logical("long", "time-micros"), [0, DAY_MS * 1_000 - 1], [-1, DAY_MS * 1_000]),
        (logical("int", "date"), [-1, 2**31 - 1], []),
        (logical("long", "timestamp-millis"), [-1, 2**63 - 1], []),
        (logical("long", "local-timestamp-micros"), [-1], []),
        (logical("string", "own"), ["anything"], []),
        (logical("long", "time-millis"), [-1], []),
    ],
)
def test_logical_types_limit_what_is_written_as_in_ksml(kind: Any, good: list[Any], bad: list[Any]) -> None:
    around: list[tuple[Any, Any]] = [
        (kind, lambda value: value),
        (["null", kind], lambda value: value),
        ({"type": "array", "items": kind}, lambda value: [value]),
        ({"type": "map", "values": kind}, lambda value: {"k": value}),
    ]
    for whole, wrap in around:
        for value in good:
            assert read_back(whole, wrap(value)) == wrap(value)
        for value in bad:
            with pytest.raises(EncodeError, match="does not fit the schema R"):
                read_back(whole, wrap(value))
    assert read_back(["null", kind], None) is None


@pytest.mark.parametrize("size", [100_000, None], ids=["fixed", "bytes"])
def test_a_decimal_of_many_bytes_is_refused_by_its_digits(size: int | None) -> None:
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
    if size is not None:
        kind |= {"type": "fixed", "name": "Amount", "size": size}
    text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "f", "type": kind}]})
    codec = avro_format("R", text).codec(no_contracts)
    head = codec.encode({"f": "1"})[:5]
    body = b"\x7f" * 100_000
    with pytest.raises(DecodeError, match="holds more than 10 digits"):
        codec.decode(head + (integer_bytes(len(body)) if size is None else b"") + body)
