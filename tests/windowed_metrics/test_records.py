"""Records fit their contracts, field for field."""

import json

import pytest

from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from tests.windowed_metrics.harness import metric
from windowed_metrics.model import MetricWindow, ServerMetric, WindowedMetric


@pytest.mark.parametrize("record_type", [ServerMetric, MetricWindow, WindowedMetric])
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("windowed-metrics", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.windowed_metrics"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)
    local_codec("windowed-metrics", record_type)


def test_required_fields_have_no_default_and_optional_ones_are_null() -> None:
    fields = {f["name"]: f for f in json.loads(load_contract("windowed-metrics", "ServerMetric").text)["fields"]}
    assert {name for name, field in fields.items() if "default" not in field} == {"metric_name", "value", "timestamp"}
    for field in fields.values():
        assert field.get("default") is None


def test_measurement_survives_an_avro_round_trip() -> None:
    event, avro = metric(5, metric_id="m-1"), local_codec("windowed-metrics", ServerMetric)
    assert avro.decode(avro.encode(event)) == event
