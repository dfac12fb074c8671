"""Prices of any numeric type are read from the bytes of producers. Invalid records change nothing."""

import io
import json
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from forebay.codec import DecodeError
from forebay.producing.base import Defect, Event
from forebay.producing.frames import Frames, altered_contract
from forebay.serde import AvroCodec, LocalSchemas, Schema, load_contract, local_codec
from order_stores.model import OrderEvent
from tests.order_stores.harness import DRIVERS_CLOCK, START, driver, pipe, step, stores
from tests.plain import plain

CONTRACT = load_contract("order-stores", "OrderEvent")
REQUIRED = ["order_id", "status", "product_id", "quantity", "price", "timestamp"]


def decimal(precision: int, scale: int) -> dict[str, Any]:
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def read(writer: dict[str, Any], values: dict[str, Any]) -> OrderEvent:
    """Write values with the writer's schema, and decode them with the contract."""
    schemas = LocalSchemas()
    codec = AvroCodec(OrderEvent, schemas.register(CONTRACT), schemas)
    schema_id = schemas.register(Schema(json.dumps(writer))).schema_id
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(writer, named_schemas={}), values)
    return codec.decode(b"\0" + schema_id.to_bytes(4, "big") + body.getvalue())


@pytest.mark.parametrize(
    ("written_as", "price"),
    [
        ("double", 19.99),
        ("long", 20),
        (decimal(10, 2), Decimal("19.99")),
        (decimal(38, 6), Decimal("0.000001")),
        (["null", "double"], 0.5),
    ],
    ids=str,
)
def test_prices_of_other_writers(written_as: Any, price: Any) -> None:
    writer = json.loads(CONTRACT.text)
    next(field for field in writer["fields"] if field["name"] == "price")["type"] = written_as
    event = read(writer, plain(step("created", price=price)))
    assert event.price == price
    assert type(event.price) is (Decimal if isinstance(price, Decimal) else float)


@pytest.mark.parametrize("field", REQUIRED)
@pytest.mark.parametrize("defect", [Defect.MISSING_FIELD, Defect.NULL_FIELD, Defect.WRONG_TYPE])
def test_a_required_field_is_required(field: str, defect: Defect) -> None:
    writer = altered_contract(json.loads(CONTRACT.text), field, defect)
    value = True if defect is Defect.WRONG_TYPE else None
    with pytest.raises(DecodeError, match=field):
        read(writer, plain(step("created")) | {field: value})


@pytest.mark.parametrize("defect", Defect, ids=lambda defect: str(defect.value))
def test_records_of_a_broken_producer_change_nothing(defect: Defect) -> None:
    task = driver(engine={"max_future_ms": START + 3_600_000 - DRIVERS_CLOCK})
    pipe(task, "created")
    before = stores(task)
    frames = Frames(local_codec("order-stores", OrderEvent).encode, CONTRACT.text, "order_id", lambda *_: 9)
    key, value = frames.frame(Event("o1", step("paid", 1), START + 1, defect))
    assert task.pipe_bytes(key, value, START + 1) == []
    (failure,) = task.errors
    assert (failure.headers["error.stage"], failure.key, failure.value) == ("decode", key, value)
    assert stores(task) == before
    assert pipe(task, "paid", 1).customer_total_spent == Decimal("59.97")
