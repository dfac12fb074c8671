"""A late event counts and alerts like any other, but never replaces newer values."""

import pytest

from tests.device_alerts.harness import START, device, driver, pipe, types


@pytest.mark.parametrize("event_type", ["sensor_reading", "status_update", "error", "heartbeat", "other"])
def test_last_seen_never_moves_backwards(event_type: str) -> None:
    task = driver()
    pipe(task, 100)
    pipe(task, 50, event_type, "1")
    assert device(task).last_seen == START + 100


def test_an_old_status_update_alerts_with_its_status_and_does_not_become_the_devices() -> None:
    task = driver()
    pipe(task, 100, "status_update", "idle")
    (alert,) = pipe(task, 50, "status_update", "maintenance")
    assert (alert.alert_type, alert.status, alert.timestamp) == ("STATUS_UPDATE", "maintenance", START + 50)
    assert (device(task).status, device(task).status_at) == ("idle", START + 100)


def test_a_status_older_than_other_events_but_newer_than_the_last_status_counts() -> None:
    task = driver()
    pipe(task, 10, "status_update", "idle")
    pipe(task, 100, "firmware_check")
    pipe(task, 50, "status_update", "maintenance")
    assert (device(task).status, device(task).last_seen) == ("maintenance", START + 100)


def test_later_arrival_wins_for_equal_timestamps() -> None:
    task = driver()
    for status, reading in (("idle", 20.0), ("running", 30.0)):
        pipe(task, 5, "sensor_reading", reading)
        pipe(task, 5, "status_update", status)
    assert (device(task).status, device(task).last_temp) == ("running", 30.0)


def test_an_old_hot_reading_alerts_and_is_not_the_last_one() -> None:
    task = driver()
    pipe(task, 100, "sensor_reading", 20.0)
    (alert,) = pipe(task, 50, "sensor_reading", 90.0)
    assert (alert.temperature, alert.timestamp) == (90.0, START + 50)
    assert (device(task).last_temp, device(task).last_temp_at) == (20.0, START + 100)


def test_a_reading_older_than_other_events_but_newer_than_the_last_one_counts() -> None:
    task = driver()
    pipe(task, 10, "sensor_reading", 20.0)
    pipe(task, 100)
    pipe(task, 50, "sensor_reading", 30.0)
    assert (device(task).last_temp, device(task).status) == (30.0, "online")


def test_old_errors_and_heartbeats_are_counted() -> None:
    task = driver()
    pipe(task, 100, "firmware_check")
    assert pipe(task, 50, "error", "E1")[0].error_count == 1
    assert types([alert for at in range(10) for alert in pipe(task, at)]) == ["HEARTBEAT_SUMMARY"]


def test_an_old_event_does_not_move_a_device_but_may_supply_its_location() -> None:
    task = driver()
    pipe(task, 100, facility="plant", zone=None)
    pipe(task, 50, facility="annex", zone="roof")
    assert (device(task).facility, device(task).zone) == ("plant", "roof")
