"""Records fit their contracts, field for field."""

import json
from operator import attrgetter

import pytest

from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from menu_votes.model import CustomerRegion, CustomerVote, RegionalVote, RegionVoteCount, VoteCount

RECORDS = [
    CustomerVote("e", "Anna", "curry", 3),
    CustomerRegion(None, None, "north", 3),
    RegionalVote("north", "curry"),
    VoteCount("curry", 2),
    RegionVoteCount("north", "curry", 0),
]


@pytest.mark.parametrize("record_type", sorted({type(record) for record in RECORDS}, key=attrgetter("__name__")))
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("menu-votes", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.menu_votes"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


@pytest.mark.parametrize(
    ("record_type", "required"), [(CustomerVote, {"dish", "timestamp"}), (CustomerRegion, {"region", "timestamp"})]
)
def test_required_fields_have_no_default(record_type: type, required: set[str]) -> None:
    fields = json.loads(load_contract("menu-votes", record_type.__name__).text)["fields"]
    assert {field["name"] for field in fields if "default" not in field} == required


@pytest.mark.parametrize("record", RECORDS)
def test_record_survives_an_avro_round_trip(record: object) -> None:
    avro = local_codec("menu-votes", type(record))
    assert avro.decode(avro.encode(record)) == record
