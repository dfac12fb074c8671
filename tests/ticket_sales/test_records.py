"""Records fit their contracts, field for field."""

import json

import pytest

from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from ticket_sales.model import MovieTicketSale, Operation, TicketsSold, TicketsSoldChange

RECORDS = [
    MovieTicketSale("e", "Aliens", 12.5, "odeon", 3),
    MovieTicketSale(None, "Aliens", None, None, 3),
    TicketsSold("Aliens", 2),
    TicketsSoldChange("INSERT", None, TicketsSold("Aliens", 1), 3),
    TicketsSoldChange("UPDATE", TicketsSold("Aliens", 1), TicketsSold("Aliens", 2), 3),
]


@pytest.mark.parametrize("record_type", [MovieTicketSale, TicketsSold, TicketsSoldChange])
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("ticket-sales", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.ticket_sales"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


def test_title_and_timestamp_are_required() -> None:
    fields = json.loads(load_contract("ticket-sales", "MovieTicketSale").text)["fields"]
    assert {field["name"] for field in fields if "default" not in field} == {"title", "timestamp"}


def test_operations_equal_those_of_the_contract() -> None:
    (field, *_) = json.loads(load_contract("ticket-sales", "TicketsSoldChange").text)["fields"]
    assert field["type"]["symbols"] == [operation.value for operation in Operation]


@pytest.mark.parametrize("record", RECORDS)
def test_record_survives_an_avro_round_trip(record: object) -> None:
    avro = local_codec("ticket-sales", type(record))
    assert avro.decode(avro.encode(record)) == record
