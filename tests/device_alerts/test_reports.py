"""Status updates, errors, heartbeats, and events of other types have the right alerts."""

import pytest

from device_alerts.model import Device, DeviceAlert
from device_alerts.settings import DeviceAlertsSettings
from forebay.processor.engine_settings import Emit
from tests.device_alerts.harness import START, device, driver, event, pipe, types, values


def test_a_status_update_sets_the_status_and_always_alerts() -> None:
    task = driver()
    for at in (0, 1):
        assert pipe(task, at, "status_update", "maintenance", event_id=f"e-{at}") == [
            DeviceAlert("STATUS_UPDATE", "d1", START + at, "maintenance", f"e-{at}", "plant", "hall")
        ]
    assert device(task).status == "maintenance"


def test_an_error_counts_and_alerts() -> None:
    task = driver()
    pipe(task, 0, "error", "E101")
    assert pipe(task, 1, "error", "E205", event_id="e-2") == [
        DeviceAlert("ERROR", "d1", START + 1, "error", "e-2", "plant", "hall", error_code="E205", error_count=2)
    ]
    assert (device(task).status, device(task).error_count) == ("error", 2)


@pytest.mark.parametrize(("value", "text"), [(503.0, "503"), (-1.0, "-1"), (0.5, "0.5"), (1e300, "1e+300")])
def test_a_number_as_status_or_error_code_is_its_shortest_text(value: float, text: str) -> None:
    task = driver()
    assert pipe(task, 0, "error", value)[0].error_code == text
    assert pipe(task, 1, "status_update", value)[0].status == text


def test_every_tenth_heartbeat_gives_a_summary() -> None:
    task = driver()
    summaries = [alert for at in range(25) for alert in pipe(task, at, event_id=f"e-{at}")]
    assert summaries == [
        DeviceAlert("HEARTBEAT_SUMMARY", "d1", START + 9, "online", "e-9", "plant", "hall", heartbeat_count=10),
        DeviceAlert("HEARTBEAT_SUMMARY", "d1", START + 19, "online", "e-19", "plant", "hall", heartbeat_count=20),
    ]
    assert (device(task).status, device(task).heartbeat_count) == ("online", 25)


def test_how_many_heartbeats_make_a_summary_is_a_setting() -> None:
    task = driver(DeviceAlertsSettings(heartbeat_every=1))
    assert [alert.heartbeat_count for at in range(3) for alert in pipe(task, at)] == [1, 2, 3]


def test_heartbeats_are_counted_per_device_and_other_events_do_not_count() -> None:
    task = driver(DeviceAlertsSettings(heartbeat_every=2))
    pipe(task, 0, key="d1")
    pipe(task, 1, "sensor_reading", 20.0, key="d1")
    assert pipe(task, 2, key="d2") == []
    assert types(pipe(task, 3, key="d1")) == ["HEARTBEAT_SUMMARY"]


@pytest.mark.parametrize("value", ["", "nan", float("nan"), 1.5])
def test_the_value_of_a_heartbeat_or_of_an_unknown_type_is_not_looked_at(value: str | float) -> None:
    task = driver()
    pipe(task, 0, "heartbeat", value)
    pipe(task, 1, "diagnostics", value)
    assert (device(task).heartbeat_count, device(task).last_seen, task.errors) == (1, START + 1, [])


def test_unknown_event_type_only_updates_last_seen() -> None:
    task = driver()
    pipe(task, 0, "status_update", "idle")
    before = device(task)
    assert pipe(task, 7, "firmware_check", "1.2") == []
    after = device(task)
    assert after.last_seen == START + 7
    assert (after.status, after.status_at, after.last_temp, after.error_count, after.heartbeat_count) == (
        before.status, before.status_at, None, 0, 0,
    )  # fmt: skip


def test_the_status_is_unknown_until_an_event_has_it() -> None:
    task = driver(DeviceAlertsSettings(offline_after_ms=0))
    pipe(task, 0, "firmware_check")
    assert device(task) == Device(
        status="unknown", status_at=None, last_temp=None, last_temp_at=None, error_count=0, heartbeat_count=0,
        last_seen=START, facility="plant", zone="hall", alerted_at=None, offline_since=None, watched=False,
    )  # fmt: skip


def test_the_key_is_the_device() -> None:
    task = driver()
    (alert,) = pipe(task, 0, "error", "E1", key="d9", device_id="another device")
    assert alert.device_id == "d9"


def test_every_alert_is_sent_regardless_of_table_emission() -> None:
    task = driver(emit=Emit.LATEST)
    batch = [("d1", event(0, "error", "E1")), ("d2", event(1, "error", "E2")), ("d1", event(2, "error", "E3"))]
    assert {(alert.device_id, alert.error_code) for alert in values(task.run_batch(batch))} == {
        ("d1", "E1"),
        ("d1", "E3"),
        ("d2", "E2"),
    }
