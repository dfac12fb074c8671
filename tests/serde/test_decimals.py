"""Decimals are exact as bytes, as fixed and in unions, and never rounded. fastavro has the same results."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from decimal import Decimal, localcontext
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.codec import DecodeError, EncodeError
from forebay.serde import ContractMismatch, LocalSchemas
from forebay.serde.framing import header
from tests.serde.everything import codec_of, schema


@dataclass(frozen=True, slots=True)
class Prices:
    plain: Decimal
    fixed: Decimal
    fixed_again: Decimal
    many: tuple[Decimal, ...]
    any_of: Decimal | float | None
    last: str


@dataclass(frozen=True, slots=True)
class Price:
    price: Decimal


@dataclass(frozen=True, slots=True)
class DecimalOrDouble:
    price: Decimal | float


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def fixed_decimal(precision: int, scale: int, size: int, name: str = "Amount") -> dict[str, Any]:
    return {**decimal(precision, scale), "type": "fixed", "name": name, "size": size}


def price(avro: Any, **field: Any) -> dict[str, Any]:
    return {"type": "record", "name": "Price", "fields": [{"name": "price", "type": avro, **field}]}


CONTRACT = {
    "type": "record",
    "name": "Prices",
    "fields": [
        {"name": "plain", "type": decimal(40, 10)},
        {"name": "fixed", "type": fixed_decimal(12, 4, 6)},
        {"name": "fixed_again", "type": "Amount"},
        {"name": "many", "type": {"type": "array", "items": decimal(9, 0)}},
        {"name": "any_of", "type": ["null", decimal(12, 2), "double"]},
        {"name": "last", "type": "string"},
    ],
}
CODEC = codec_of(Prices, CONTRACT)
PARSED = fastavro.parse_schema(json.loads(json.dumps(CONTRACT)))


def decimals(digits: int, places: int) -> st.SearchStrategy[Decimal]:
    limit = 10**digits - 1
    return st.integers(-limit, limit).map(lambda unscaled: Decimal((unscaled < 0, digits_of(unscaled), -places)))


def digits_of(number: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(number)))


prices = st.builds(
    Prices,
    plain=decimals(40, 10),
    fixed=decimals(12, 4),
    fixed_again=decimals(12, 4),
    many=st.lists(decimals(9, 0), max_size=5).map(tuple),
    any_of=st.none() | decimals(12, 2) | st.floats(allow_nan=False),
    last=st.text(max_size=5),
)


def plain(record: Prices) -> dict[str, Any]:
    return {**asdict(record), "many": list(record.many)}


def fastavro_bytes(contract: Any, value: dict[str, Any]) -> bytes:
    buffer = BytesIO()
    fastavro.schemaless_writer(buffer, fastavro.parse_schema(json.loads(json.dumps(contract))), value)
    return header(1) + buffer.getvalue()


@pytest.mark.long
@given(prices)
def test_encoded_values_are_decoded_again(record: Prices) -> None:
    decoded = CODEC.decode(CODEC.encode(record))
    assert decoded == record
    assert str(decoded.plain) == str(record.plain) or not record.plain


@given(prices)
def test_bytes_are_those_fastavro_reads(record: Prices) -> None:
    with localcontext(prec=60):
        read = fastavro.schemaless_reader(BytesIO(CODEC.encode(record)[5:]), PARSED, None)
    assert read == plain(record)


@given(prices)
def test_bytes_of_fastavro_are_decoded(record: Prices) -> None:
    assert CODEC.decode(fastavro_bytes(CONTRACT, plain(record))) == record


@pytest.mark.parametrize(
    ("unscaled", "data"),
    [(0, "00"), (127, "7f"), (128, "0080"), (-1, "ff"), (-128, "80"), (-129, "ff7f"), (32_768, "008000")],
)
def test_bytes_are_the_shortest_ones_as_those_of_java(unscaled: int, data: str) -> None:
    codec = codec_of(Price, price(decimal(9, 0)))
    assert codec.encode(Price(Decimal(unscaled))) == header(1) + bytes([len(data)]) + bytes.fromhex(data)


def test_a_type_of_each_kind_in_a_union_keeps_its_kind() -> None:
    codec = codec_of(DecimalOrDouble, {**price(["double", decimal(12, 2)]), "name": "DecimalOrDouble"})
    exact, binary = (codec.decode(codec.encode(DecimalOrDouble(value))).price for value in (Decimal("0.10"), 0.1))
    assert (type(exact), str(exact)) == (Decimal, "0.10")
    assert (type(binary), binary) == (float, 0.1)


@pytest.mark.parametrize("text", ["1", "1.5", "1.50", "1.500", "15E-1", "-0.00", "0E+9", "1E+2", "9999999999.99"])
def test_another_number_of_zeros_is_the_same_number(text: str) -> None:
    codec = codec_of(Price, price(decimal(12, 2)))
    decoded = codec.decode(codec.encode(Price(Decimal(text)))).price
    assert (decoded, decoded.as_tuple().exponent) == (Decimal(text), -2)


@pytest.mark.parametrize("text", ["1.005", "1E-3", "1E-999999", "1E+999999", "10000000000", "NaN", "sNaN", "-Infinity"])
@pytest.mark.parametrize("avro", [decimal(12, 2), fixed_decimal(12, 2, 6)])
def test_values_out_of_range_are_refused_not_rounded(text: str, avro: Any) -> None:
    with pytest.raises(EncodeError, match=r"^Price\.price: .* does not fit into decimal\(12, 2\) \(10 digits before"):
        codec_of(Price, price(avro)).encode(Price(Decimal(text)))


@pytest.mark.parametrize(
    ("value", "shown"), [(1.5, "float 1.5"), (2, "int 2"), ("1.5", "str '1.5'"), (None, "NoneType")]
)
def test_only_a_decimal_is_a_decimal(value: Any, shown: str) -> None:
    with pytest.raises(EncodeError, match=f"Price.price: must be Decimal, is {shown}"):
        codec_of(Price, price(decimal(12, 2))).encode(Price(value))


def read(writer: Any, value: Any, reader: Any) -> Any:
    schemas = LocalSchemas()
    data = fastavro_bytes(price(writer), {"price": value})[5:]
    schema_id = schemas.register(schema(price(writer))).schema_id
    return codec_of(Price, price(reader), schemas).decode(header(schema_id) + data).price


@pytest.mark.parametrize(
    ("writer", "reader", "text"),
    [
        (decimal(6, 1), decimal(12, 2), "1.50"),
        (fixed_decimal(6, 2, 4), decimal(12, 2), "1.50"),
        (decimal(12, 2), fixed_decimal(12, 2, 6), "1.50"),
        (decimal(12, 2), fixed_decimal(38, 10, 16), "1.5000000000"),
        (["null", decimal(12, 2)], decimal(12, 2), "1.50"),
    ],
)
def test_a_writers_decimal_is_read_by_its_own_scale(writer: Any, reader: Any, text: str) -> None:
    assert str(read(writer, Decimal("1.5"), reader)) == text


@pytest.mark.parametrize(
    ("writer", "value", "says"),
    [
        (decimal(12, 3), Decimal("1.5"), r"decimal\(12, 3\) can't be read as decimal\(12, 2\)"),
        (decimal(13, 2), Decimal("1.5"), r"decimal\(13, 2\) can't be read as decimal\(12, 2\)"),
        ("double", 1.5, r"double can't be read as decimal\(12, 2\)"),
        ("string", "1.5", r"string can't be read as decimal\(12, 2\)"),
        (["null", "long"], 5, r"long can't be read as decimal\(12, 2\)"),
    ],
)
def test_incompatible_writer_type_is_refused(writer: Any, value: Any, says: str) -> None:
    with pytest.raises(DecodeError, match=rf"^Price\.price: the writer's type {says}"):
        read(writer, value, decimal(12, 2))


def test_bytes_without_annotation_are_read_by_our_scale() -> None:
    assert str(read("bytes", b"\x00\x96", decimal(12, 2))) == "1.50"


@pytest.mark.parametrize("skipped", [decimal(12, 2), fixed_decimal(12, 2, 6, "Skipped")])
def test_a_decimal_we_do_not_know_is_skipped(skipped: Any) -> None:
    schemas = LocalSchemas()
    writer = price(decimal(12, 2))
    writer["fields"].insert(0, {"name": "tax", "type": skipped})
    data = fastavro_bytes(writer, {"tax": Decimal("0.21"), "price": Decimal("1.50")})[5:]
    schema_id = schemas.register(schema(writer)).schema_id
    assert codec_of(Price, price(decimal(12, 2)), schemas).decode(header(schema_id) + data) == Price(Decimal("1.50"))


def test_a_default() -> None:
    schemas = LocalSchemas()
    empty = {"type": "record", "name": "Price", "fields": []}
    schema_id = schemas.register(schema(empty)).schema_id
    codec = codec_of(Price, price(decimal(12, 2), default="\u0000\u0096"), schemas)
    assert str(codec.decode(header(schema_id)).price) == "1.50"


@pytest.mark.parametrize("data", [b"\x02\x64", b"\x02\x9c"])
def test_more_digits_than_the_precision(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"Price\.price: a decimal\(2, 1\) holds more than 2 digits"):
        codec_of(Price, price(decimal(2, 1))).decode(header(1) + data)


@pytest.mark.parametrize("avro", [decimal(12, 2), fixed_decimal(12, 2, 6)])
def test_truncated(avro: Any) -> None:
    codec = codec_of(Price, price(avro))
    with pytest.raises(DecodeError, match=r"Price\.price: truncated"):
        codec.decode(codec.encode(Price(Decimal("123.45")))[:-1])


@pytest.mark.parametrize(
    ("record_type", "avro", "says"),
    [
        (Price, "double", "the dataclass has the type Decimal, the contract has the type double"),
        (
            Price,
            ["null", decimal(4, 2)],
            r"the dataclass has the type Decimal, the contract has the type null \| decimal\(4, 2\)",
        ),
        (
            Price,
            {"type": "bytes", "logicalType": "decimal"},
            "the dataclass has the type Decimal, the contract has the type bytes",
        ),
        (DecimalOrDouble, ["double", "string"], "the contract allows string, for which .* has no type of its own"),
    ],
)
def test_a_contract_that_differs(record_type: type, avro: Any, says: str) -> None:
    with pytest.raises(ContractMismatch, match=says):
        codec_of(record_type, price(avro))


def test_annotated_bytes_are_read_as_bytes_by_a_contract_that_says_bytes() -> None:
    @dataclass(frozen=True, slots=True)
    class Raw:
        price: bytes

    schemas = LocalSchemas()
    writer = codec_of(Price, price(decimal(12, 2)), schemas)
    codec = codec_of(Raw, {**price("bytes"), "name": "Price"}, schemas)
    assert codec.decode(writer.encode(Price(Decimal("1.50")))) == Raw(b"\x00\x96")
