"""A value reads back as it was put, both from memory and from the row's bytes. Otherwise the put is rejected."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest

from forebay.codec import EncodeError
from forebay.records import FrozenMap
from forebay.serde import AvroCodec, LocalSchemas
from forebay.serde.extension import Native, native_codec
from forebay.stores import KeyValueStore, TimestampedKeyValueStore
from forebay.stores.rows import StoreEncodeError
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.testing.bench import Bench
from tests.serde.everything import schema


@dataclass(frozen=True, slots=True)
class Measured:
    wide: float
    narrow: float
    number: int
    text: str
    price: Decimal
    many: tuple[float, ...]
    by_name: FrozenMap[str, Decimal]
    maybe: float | None


BLANK = Measured(0.0, 0.0, 0, "", Decimal("0.00"), (), FrozenMap(), None)
PRICE = {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}
CONTRACT = {
    "type": "record",
    "name": "Measured",
    "fields": [
        {"name": "wide", "type": "double"},
        {"name": "narrow", "type": "float"},
        {"name": "number", "type": "long"},
        {"name": "text", "type": "string"},
        {"name": "price", "type": PRICE},
        {"name": "many", "type": {"type": "array", "items": "double"}},
        {"name": "by_name", "type": {"type": "map", "values": PRICE}},
        {"name": "maybe", "type": ["null", "double"]},
    ],
}


class Colour(str, Enum):  # noqa: UP042 (what people do)
    RED = "RED"


@pytest.fixture(params=[native_codec(), None], ids=["native", "explaining"])
def codec(request: pytest.FixtureRequest) -> AvroCodec[Measured]:
    native: Native | None = request.param
    schemas = LocalSchemas()
    return AvroCodec(Measured, schemas.register(schema(CONTRACT)), schemas, native)


CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"wide": 3}, "3.0"),
    ({"narrow": 3}, "3.0"),
    ({"narrow": 0.1}, "0.10000000149011612"),
    ({"price": Decimal("1.5")}, "Decimal('1.50')"),
    ({"price": Decimal("15E+1")}, "Decimal('150.00')"),
    ({"price": Decimal("-0.00")}, "Decimal('0.00')"),
    ({"many": (0.5, 2)}, "(0.5, 2.0)"),
    ({"by_name": FrozenMap({"a": Decimal(1)})}, "{'a': Decimal('1.00')}"),
]


@pytest.mark.parametrize(("fields", "shown"), CHANGED, ids=repr)
@pytest.mark.parametrize(
    "read",
    [
        lambda bench, codec, value: _put_value(bench.open(KeyValueStore("plain", Measured), codec), bench, value),
        lambda bench, codec, value: _put_timestamped(
            bench.open(TimestampedKeyValueStore("s", Measured), codec), bench, value
        ),
        lambda bench, codec, value: _version(
            bench.open(VersionedKeyValueStore("v", Measured, history_retention_ms=10), codec), bench, value
        ),
    ],
    ids=["plain", "stamped", "versioned"],
)
def test_a_value_in_another_form_is_kept_as_it_is_read_back(
    bench: Bench,
    codec: AvroCodec[Measured],
    fields: dict[str, Any],
    shown: str,
    read: Callable[[Bench, AvroCodec[Measured], Measured], tuple[Any, Any]],
) -> None:
    from_memory, from_bytes = read(bench, codec, replace(BLANK, **fields))
    assert repr(getattr(from_memory, *fields)) == shown
    assert repr(from_memory) == repr(from_bytes)


def _put_value(store: Any, bench: Bench, value: Measured) -> tuple[Any, Any]:
    store.put("k", value)
    before = store.get("k")
    bench.commit()
    return before, store.get("k")


def _put_timestamped(store: Any, bench: Bench, value: Measured) -> tuple[Any, Any]:
    store.put("k", value, 5)
    before = store.get("k").value
    bench.commit()
    return before, store.get("k").value


def _version(store: Any, bench: Bench, value: Measured) -> tuple[Any, Any]:
    store.put("k", value, 5)
    before = store.get("k").value
    bench.commit()
    return before, store.get("k").value


def test_a_value_that_is_canonical_is_kept_as_it_is(bench: Bench, codec: AvroCodec[Measured]) -> None:
    store = bench.open(KeyValueStore("plain", Measured), codec)
    value = Measured(0.5, 0.25, 7, "t", Decimal("1.50"), (0.5,), FrozenMap({"a": Decimal("1.00")}), 0.5)
    store.put("k", value)
    result = store.get("k")
    assert repr(result) == repr(value)
    if codec._native is not None:
        assert result is value


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"wide": True}, "Measured.wide must be float, is bool True"),
        ({"wide": 2**53 + 1}, "Measured.wide: 9007199254740993 does not fit into double: the nearest is another"),
        ({"narrow": 2**24 + 1}, "Measured.narrow: 16777217 does not fit into float: the nearest is another number"),
        ({"number": True}, "Measured.number must be int, is bool True"),
        ({"text": Colour.RED}, "Measured.text must be str, is Colour <Colour.RED: 'RED'>"),
        ({"price": 1.5}, "Measured.price: must be Decimal, is float 1.5"),
        ({"price": Decimal("1.005")}, "Measured.price: 1.005 does not fit into decimal(12, 2)"),
        ({"maybe": 1}, "Measured.maybe: int 1 is not one of null | double"),
    ],
)
def test_a_value_that_would_be_read_back_differently_is_refused(
    bench: Bench, codec: AvroCodec[Measured], fields: dict[str, Any], complaint: str
) -> None:
    store = bench.open(KeyValueStore("plain", Measured), codec)

    def put() -> None:
        store.put("k", replace(BLANK, **fields))
        bench.commit()

    with pytest.raises((EncodeError, StoreEncodeError)) as caught:
        put()
    assert complaint in str(caught.value)
    bench.roll_back()
    assert store.get("k") is None
