"""A device that is silent for too long goes offline, even if the topic is idle, and online when it returns."""

import pytest

from device_alerts.model import DeviceAlert
from device_alerts.settings import DeviceAlertsSettings
from tests.device_alerts.harness import (
    OFFLINE_AFTER,
    START,
    device,
    driver,
    event,
    pipe,
    started_again,
    timer_rows,
    types,
    values,
)


def test_a_silent_device_goes_offline_at_its_due_time() -> None:
    task = driver()
    pipe(task, 0, "status_update", "idle")
    pipe(task, 1000, "sensor_reading", 20.0)
    offline, _other = values(task.pipe("d2", event(OFFLINE_AFTER + 5000, "error", "E1")))
    due = START + 1000 + OFFLINE_AFTER
    assert offline == DeviceAlert(
        "OFFLINE", "d1", due, "offline", None, "plant", "hall", last_seen=START + 1000, silent_ms=OFFLINE_AFTER
    )
    assert (device(task).status, device(task).offline_since) == ("offline", due)
    assert device(task).last_seen == START + 1000


def test_device_does_not_go_offline_a_millisecond_early() -> None:
    task = driver()
    pipe(task, 0)
    assert task.pipe("d2", event(OFFLINE_AFTER - 1)) == []
    assert types(values(task.pipe("d2", event(OFFLINE_AFTER)))) == ["OFFLINE"]


@pytest.mark.parametrize("event_type", ["sensor_reading", "heartbeat", "firmware_check"])
def test_an_event_of_any_type_keeps_a_device_online(event_type: str) -> None:
    task = driver()
    for at in range(0, 10 * OFFLINE_AFTER, OFFLINE_AFTER - 1):
        assert "OFFLINE" not in types(pipe(task, at, event_type, 20.0))
    assert len(timer_rows(task)) == 1


def test_the_timer_is_set_once_and_not_moved_by_each_event() -> None:
    task = driver()
    pipe(task, 0)
    first = timer_rows(task)
    pipe(task, 1000)
    assert timer_rows(task) == first
    assert task.advance_wall_time(OFFLINE_AFTER - 1000) == []
    assert timer_rows(task) != first


def test_device_goes_offline_once_on_an_idle_topic() -> None:
    task = driver()
    pipe(task, 0)
    assert task.advance_wall_time(OFFLINE_AFTER - 1) == []
    assert types(values(task.advance_wall_time(1))) == ["OFFLINE"]
    assert task.advance_wall_time(10 * OFFLINE_AFTER) == []
    assert timer_rows(task) == []


def test_devices_go_offline_in_order_of_time_then_device() -> None:
    task = driver()
    for at, key in ((0, "d9"), (1, "d2"), (1, "d1"), (2, "d9")):
        pipe(task, at, key=key)
    assert [output.key for output in task.advance_wall_time(2 * OFFLINE_AFTER)] == ["d1", "d2", "d9"]


@pytest.mark.parametrize(
    ("event_type", "value", "status", "alerts"),
    [
        ("sensor_reading", 20.0, "active", ["ONLINE"]),
        ("sensor_reading", 99.0, "active", ["ONLINE", "TEMPERATURE_ALERT"]),
        ("heartbeat", "ok", "online", ["ONLINE"]),
        ("status_update", "idle", "idle", ["ONLINE", "STATUS_UPDATE"]),
        ("error", "E1", "error", ["ONLINE", "ERROR"]),
        ("firmware_check", "1.2", "online", ["ONLINE"]),
    ],
)
def test_device_comes_online_with_any_event_type(
    event_type: str, value: str | float, status: str, alerts: list[str]
) -> None:
    task = driver()
    pipe(task, 0)
    task.advance_wall_time(OFFLINE_AFTER)
    result = pipe(task, OFFLINE_AFTER + 9, event_type, value, event_id="e-2")
    assert types(result) == alerts
    assert result[0] == DeviceAlert(
        "ONLINE", "d1", START + OFFLINE_AFTER + 9, status, "e-2", "plant", "hall",
        last_seen=START, silent_ms=OFFLINE_AFTER + 9,
    )  # fmt: skip
    assert (device(task).status, device(task).offline_since) == (status, None)


def test_next_event_of_an_overdue_device_sends_offline_then_online() -> None:
    task = driver()
    pipe(task, 0)
    assert types(values(task.pipe("d1", event(OFFLINE_AFTER)))) == ["OFFLINE", "ONLINE"]


def test_device_can_go_offline_again() -> None:
    task = driver()
    pipe(task, 0)
    task.advance_wall_time(OFFLINE_AFTER)
    pipe(task, 2 * OFFLINE_AFTER)
    (again,) = values(task.advance_wall_time(OFFLINE_AFTER))
    assert (again.alert_type, again.timestamp) == ("OFFLINE", START + 3 * OFFLINE_AFTER)


def test_counts_survive_an_offline_period() -> None:
    task = driver()
    for at in range(9):
        pipe(task, at)
    pipe(task, 9, "error", "E1")
    task.advance_wall_time(OFFLINE_AFTER)
    assert types(pipe(task, 2 * OFFLINE_AFTER)) == ["ONLINE", "HEARTBEAT_SUMMARY"]
    assert pipe(task, 2 * OFFLINE_AFTER + 1, "error", "E1")[0].error_count == 2


def test_offline_timer_survives_a_restart() -> None:
    task = driver()
    pipe(task, 0)
    task.restart()
    assert types(values(task.advance_wall_time(OFFLINE_AFTER))) == ["OFFLINE"]
    task.restart()
    assert types(pipe(task, 2 * OFFLINE_AFTER)) == ["ONLINE"]


class TestStragglers:
    """A late event that a device sent before or during its absence does not change its status to online."""

    def test_event_older_than_the_offline_period_does_not_bring_a_device_online(self) -> None:
        task = driver()
        pipe(task, 1000)
        task.pipe("d2", event(3 * OFFLINE_AFTER))
        assert types(pipe(task, 500, "sensor_reading", 99.0)) == ["TEMPERATURE_ALERT"]
        assert (device(task).status, device(task).last_seen) == ("offline", START + 1000)
        assert device(task).last_temp == 99.0

    def test_event_that_is_already_overdue_does_not_bring_a_device_online(self) -> None:
        task = driver()
        pipe(task, 0)
        task.pipe("d2", event(3 * OFFLINE_AFTER))
        assert types(pipe(task, 2 * OFFLINE_AFTER, "status_update", "idle")) == ["STATUS_UPDATE"]
        assert (device(task).status, device(task).last_seen) == ("offline", START + 2 * OFFLINE_AFTER)
        (online,) = pipe(task, 3 * OFFLINE_AFTER)
        assert (online.alert_type, online.silent_ms) == ("ONLINE", OFFLINE_AFTER)

    def test_the_idle_clock_counts_as_well(self) -> None:
        task = driver()
        pipe(task, 0)
        task.advance_wall_time(3 * OFFLINE_AFTER)
        assert pipe(task, 2 * OFFLINE_AFTER) == []
        assert types(pipe(task, 2 * OFFLINE_AFTER + 1)) == ["ONLINE"]

    def test_device_first_seen_in_an_overdue_event_goes_offline_immediately(self) -> None:
        task = driver()
        pipe(task, 2 * OFFLINE_AFTER, key="d2")
        assert pipe(task, 0) == []
        (offline,) = values(task.pipe("d2", event(2 * OFFLINE_AFTER)))
        assert (offline.device_id, offline.timestamp) == ("d1", START + OFFLINE_AFTER)


class TestSetting:
    def test_devices_never_go_offline_with_a_timeout_of_zero(self) -> None:
        task = driver(DeviceAlertsSettings(offline_after_ms=0))
        pipe(task, 0)
        assert timer_rows(task) == []
        assert task.advance_wall_time(1000 * OFFLINE_AFTER) == []
        assert pipe(task, 1000 * OFFLINE_AFTER) == []

    def test_offline_timeout_is_a_setting(self) -> None:
        task = driver(DeviceAlertsSettings(offline_after_ms=1))
        pipe(task, 0)
        assert types(values(task.advance_wall_time(1))) == ["OFFLINE"]

    def test_known_devices_are_watched_after_detection_is_disabled_and_enabled_again(self) -> None:
        task = driver()
        pipe(task, 0)
        task = started_again(task, DeviceAlertsSettings(offline_after_ms=0))
        assert task.advance_wall_time(OFFLINE_AFTER) == []
        assert not device(task).watched
        task = started_again(task, DeviceAlertsSettings())
        pipe(task, 2 * OFFLINE_AFTER)
        assert types(values(task.advance_wall_time(OFFLINE_AFTER))) == ["OFFLINE"]

    def test_offline_device_comes_online_with_a_newer_event_if_detection_is_disabled(self) -> None:
        task = driver()
        pipe(task, 10)
        task.advance_wall_time(10 * OFFLINE_AFTER)
        task = started_again(task, DeviceAlertsSettings(offline_after_ms=0))
        assert pipe(task, 10) == []
        assert types(pipe(task, 11)) == ["ONLINE"]
        assert timer_rows(task) == []
