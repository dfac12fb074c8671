"""The JSON format of arbitrary values and of dataclasses."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forebay.codec import DecodeError, EncodeError
from forebay.formats import no_contracts
from forebay.records import FrozenMap, Record
from forebay.serde.json_format import JSON, json_of


@dataclass(frozen=True, slots=True)
class Item:
    name: str
    price: float


@dataclass(frozen=True, slots=True)
class Order:
    items: tuple[Item, ...]
    notes: FrozenMap[str, int]
    customer: str | None


@dataclass(frozen=True)
class Visit:
    page: str
    seconds: float = 1.5
    tags: tuple[str, ...] = field(default_factory=tuple)
    town: str | None = "Bonn"


class VisitOfRecord(Record):
    page: str
    seconds: float = 1.5
    tags: tuple[str, ...] = ()
    town: str | None = "Bonn"


ANY = JSON.codec(no_contracts)
ORDERS = json_of(Order).codec(no_contracts)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda each: st.lists(each).map(tuple) | st.dictionaries(st.text(), each).map(FrozenMap),
    max_leaves=10,
)


@pytest.mark.long
@given(values)
def test_any_value_survives_a_round_trip(value: Any) -> None:
    assert ANY.decode(ANY.encode(value)) == value


def test_equal_objects_have_the_same_bytes() -> None:
    assert ANY.encode({"b": 1, "a": 2}) == ANY.encode({"a": 2, "b": 1}) == b'{"a":2,"b":1}'


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"NaN", b'{"a":Infinity}', b"[" * 100_000])
def test_invalid_json_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError, match="are not JSON"):
        ANY.decode(data)


@pytest.mark.parametrize("value", [float("nan"), object(), {"a": {1, 2}}])
def test_a_value_that_can_not_be_json_is_refused(value: Any) -> None:
    with pytest.raises(EncodeError, match="is not JSON"):
        ANY.encode(value)


def test_record_survives_a_round_trip() -> None:
    order = Order((Item("tea", 2.5), Item("pie", 3.0)), FrozenMap({"n": 1}), None)
    assert ORDERS.decode(ORDERS.encode(order)) == order
    written = b'{"items":[{"name":"tea","price":2}],"notes":{}}'
    assert ORDERS.decode(written) == Order((Item("tea", 2.0),), FrozenMap(), None)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[]", r"Order is \(\), not an object"),
        (b'{"notes":{}}', "Order.items is None, not tuple"),
        (b'{"items":[{"name":5,"price":1}],"notes":{}}', r"Order.items\[0\].name is 5, not str"),
        (b'{"items":[],"notes":{"a":true}}', "Order.notes.a is True, not int"),
        (b'{"items":[],"notes":{},"customer":5}', "Order.customer is 5, none of str, NoneType"),
        (b'{"items":[],"notes":{},"extra":5}', "Order has unknown fields: extra"),
    ],
)
def test_a_field_that_is_not_of_its_type_is_named(data: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        ORDERS.decode(data)


@pytest.mark.parametrize("record", [Visit, VisitOfRecord])
def test_a_missing_field_has_its_default(record: Any) -> None:
    visits = json_of(record).codec(no_contracts)
    assert visits.decode(b'{"page":"a"}') == record(page="a")
    assert visits.decode(b'{"page":"a","town":null}') == record(page="a", town=None)
    with pytest.raises(DecodeError, match="page is None, not str"):
        visits.decode(b'{"town":"x"}')
    with pytest.raises(DecodeError, match="seconds is None, not float"):
        visits.decode(b'{"page":"a","seconds":null}')


def test_another_record_is_refused() -> None:
    with pytest.raises(EncodeError, match="is not a valid Order"):
        ORDERS.encode(Item("tea", 1.0))  # type: ignore[arg-type]
