"""Records are frozen and fit their contracts, and meaningless settings are rejected."""

import dataclasses
import json

import pytest

from device_alerts.model import AlertType, Device, DeviceAlert, DeviceEvent
from device_alerts.settings import DeviceAlertsSettings
from forebay.records import check_record_type, fields_of
from forebay.serde import load_contract, local_codec
from tests.device_alerts.harness import event


@pytest.mark.parametrize("record_type", [DeviceEvent, Device, DeviceAlert])
def test_fields_are_the_contracts_in_its_order(record_type: type) -> None:
    schema = json.loads(load_contract("device-alerts", record_type.__name__).text)
    assert [field["name"] for field in schema["fields"]] == list(fields_of(record_type))
    assert schema["namespace"] == "forebay.device_alerts"
    assert all(field["doc"] for field in schema["fields"])
    check_record_type(record_type)


def test_required_fields_have_no_default_and_optional_ones_are_null() -> None:
    fields = {f["name"]: f for f in json.loads(load_contract("device-alerts", "DeviceEvent").text)["fields"]}
    required = {"event_type", "value", "timestamp"}
    assert {name for name, field in fields.items() if "default" not in field} == required
    for name in fields.keys() - required:
        assert fields[name]["type"] == ["null", "string"]
        assert fields[name]["default"] is None


def test_the_contract_knows_every_type_of_alert() -> None:
    fields = {f["name"]: f for f in json.loads(load_contract("device-alerts", "DeviceAlert").text)["fields"]}
    assert fields["alert_type"]["type"]["symbols"] == list(AlertType)


@pytest.mark.parametrize("value", ["", "idle", "76.5", 76.5, -0.0, 1e300])
def test_a_value_keeps_its_kind(value: str | float) -> None:
    codec = local_codec("device-alerts", DeviceEvent)
    decoded = codec.decode(codec.encode(event(5, "sensor_reading", value)))
    assert (decoded, type(decoded.value)) == (event(5, "sensor_reading", value), type(value))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature_threshold", float("nan")),
        ("temperature_threshold", float("inf")),
        ("heartbeat_every", 0),
        ("offline_after_ms", -1),
        ("realert_after_ms", -1),
    ],
)
def test_senseless_settings_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} is {value}: use"):
        DeviceAlertsSettings(**{name: value})  # type: ignore[arg-type]


def test_defaults() -> None:
    assert dataclasses.asdict(DeviceAlertsSettings()) == {
        "temperature_threshold": 75.0, "heartbeat_every": 10, "offline_after_ms": 300_000, "realert_after_ms": 0,
    }  # fmt: skip
