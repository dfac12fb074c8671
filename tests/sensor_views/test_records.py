"""Records fit their contracts, and the contracts are those that the views' files require."""

import json

import pytest

from forebay.catalog import find_service
from forebay.cli.main import run
from forebay.job import load_job
from forebay.records import check_record_type, fields_of
from forebay.serde import list_contracts, load_contract, local_codec
from sensor_views.model import Reading

JOB = load_job("sensor_views.job")
ROW = JOB.outputs["avg_readings"]


def test_fields_are_the_contracts_in_its_order() -> None:
    schema = json.loads(load_contract("sensor-views", "Reading").text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(Reading))
    check_record_type(Reading)


@pytest.mark.parametrize("contract", list_contracts("sensor-views"))
def test_every_field_is_described(contract: str) -> None:
    schema = json.loads(load_contract("sensor-views", contract).text)
    assert schema["namespace"] == "forebay.sensor_views"
    assert all(field["doc"] for field in schema["fields"])


def test_all_but_the_id_is_required() -> None:
    fields = json.loads(load_contract("sensor-views", "Reading").text)["fields"]
    required = {field["name"] for field in fields if "default" not in field}
    assert required == {"sensor", "area", "reading", "timestamp"}


def test_contracts_and_entry_match_the_views(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["views", "sensor-views"]) == 0, capsys.readouterr().out


def test_each_view_is_a_topic_and_a_store() -> None:
    service = find_service("sensor-views")
    assert [topic.name for topic in service.outputs] == ["avg_readings", "part_avg"]
    assert list(service.stores) == ["avg-readings", "part-avg"]


@pytest.mark.parametrize("record", [Reading("e", "s-1", "wheel", 1.5, 3), Reading(None, "s-1", "wheel", -1.5, 3)])
def test_reading_survives_an_avro_round_trip(record: Reading) -> None:
    avro = local_codec("sensor-views", Reading)
    assert avro.decode(avro.encode(record)) == record


@pytest.mark.parametrize("average", [1.5, None])
def test_row_survives_an_avro_round_trip_with_and_without_an_average(average: float | None) -> None:
    avro = local_codec("sensor-views", ROW)
    assert avro.decode(avro.encode(ROW("s-1", average))) == ROW("s-1", average)
