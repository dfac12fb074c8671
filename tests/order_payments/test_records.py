"""Records fit their contracts, field for field."""

import json

import pytest

from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from order_payments.model import OrderPayment, Payment, PlacedOrder

RECORDS = [
    PlacedOrder("o-1", "anna", 8.5, 3),
    Payment("p-1", "o-1", 8.5, None, 3),
    Payment("p-1", "o-1", 8.5, "card", 3),
    OrderPayment("o-1", "anna", 8.5, "PAID", "p-1", 8.5, "card", 3, 4),
    OrderPayment("o-1", "anna", 8.5, "UNPAID", None, None, None, 3, None),
]


@pytest.mark.parametrize("record", RECORDS)
def test_record_survives_an_avro_round_trip(record: PlacedOrder | Payment | OrderPayment) -> None:
    avro = local_codec("order-payments", type(record))
    assert avro.decode(avro.encode(record)) == record


@pytest.mark.parametrize("record_type", [PlacedOrder, Payment, OrderPayment])
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("order-payments", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.order_payments"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)
