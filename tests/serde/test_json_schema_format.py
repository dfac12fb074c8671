"""Values that don't fit their JSON schema are neither written nor read, with or without Confluent framing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from forebay.builder import Topology
from forebay.codec import Codec, DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.records import FrozenMap
from forebay.serde.json_schema_format import json_schema
from tests.dsl.driving import Driven


@dataclass(frozen=True, slots=True)
class Order:
    customer: str
    quantity: int


SCHEMA = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "properties": {"customer": {"type": "string"}, "quantity": {"type": "integer", "minimum": 1}},
    "required": ["customer", "quantity"],
}
PLAIN: Codec[Any] = json_schema(SCHEMA).codec(no_contracts)
RECORDS: Codec[Order] = json_schema(json.dumps(SCHEMA), Order, schema_id=9).codec(no_contracts)
GOOD = b'{"customer":"anna","quantity":2}'


def test_values_that_fit_are_written_and_read() -> None:
    assert PLAIN.decode(GOOD) == FrozenMap({"customer": "anna", "quantity": 2})
    assert PLAIN.encode(PLAIN.decode(GOOD)) == GOOD
    assert RECORDS.decode(GOOD) == Order("anna", 2)
    assert RECORDS.encode(Order("anna", 2)) == b"\0\0\0\0\x09" + GOOD
    assert RECORDS.decode(b"\0\0\0\0\x63" + GOOD) == Order("anna", 2), "another schema of the subject"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"customer":"anna","quantity":0}', r"don't fit the schema Order: \$\.quantity: 0 is less than the minimum"),
        (b'{"customer":"anna"}', r"don't fit the schema Order: \$: 'quantity' is a required property"),
        (b"[]", "don't fit the schema Order: .* is not of type 'object'"),
        (b"\0\0\0", "bytes"),
        (b"{", "are not JSON"),
    ],
)
def test_values_that_do_not_fit_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(DecodeError, match=said):
        PLAIN.decode(data)


def test_records_that_would_not_fit_are_not_written() -> None:
    with pytest.raises(EncodeError, match=r"does not fit the schema Order: \$\.quantity: 0 is less"):
        RECORDS.encode(Order("anna", 0))


@pytest.mark.parametrize("schema", ["{", '{"type": "nonsense"}'])
def test_an_invalid_schema_is_refused(schema: str) -> None:
    with pytest.raises(ValueError, match="no JSON Schema: "):
        json_schema(schema)


def test_a_record_that_does_not_fit_goes_to_errors_unchanged() -> None:
    def build(t: Topology) -> None:
        orders = t.stream("orders", json_schema(SCHEMA, Order, schema_id=9))
        orders.map_values(lambda _, order: order.quantity, int).to("quantities")

    run = Driven(build)
    assert run.pipe("orders", "k", Order("anna", 2), 1) == [("k", 2, 1)]
    bad = b"\0\0\0\0\x09" + b'{"customer":"anna","quantity":0}'
    run.driver.pipe_bytes(b"k", bad, 2, "orders")
    (refused,) = run.driver.errors
    assert (refused.value, refused.headers["error.stage"]) == (bad, "decode")
