"""Records fit their contracts, field for field."""

import json

import pytest

from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from price_join.model import FoodBill, FoodOrder, MenuPrice


@pytest.mark.parametrize("record_type", [MenuPrice, FoodOrder, FoodBill])
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("price-join", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.price_join"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


@pytest.mark.parametrize("record_type", [MenuPrice, FoodOrder])
def test_every_input_field_is_required(record_type: type) -> None:
    fields = json.loads(load_contract("price-join", record_type.__name__).text)["fields"]
    assert not [field["name"] for field in fields if "default" in field or isinstance(field["type"], list)]


@pytest.mark.parametrize(
    "record",
    [
        MenuPrice("curry", 8.5, 3),
        FoodOrder("o-1", "Anna", "curry", 2, 3),
        FoodBill("o-1", "Anna", "curry", 2, 8.5, 17.0, 3),
        FoodBill("o-1", "Anna", "curry", 2, None, None, None),
    ],
)
def test_record_survives_an_avro_round_trip(record: MenuPrice | FoodOrder | FoodBill) -> None:
    avro = local_codec("price-join", type(record))
    assert avro.decode(avro.encode(record)) == record
