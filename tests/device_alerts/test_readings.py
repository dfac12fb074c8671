"""A reading above the threshold raises an alert. Text that contains a number is also a reading."""

import pytest

from device_alerts.model import DeviceAlert
from device_alerts.settings import DeviceAlertsSettings
from tests.device_alerts.harness import MINUTE, START, device, driver, pipe, types


def test_a_hot_reading_gives_an_alert_with_all_that_is_known() -> None:
    assert pipe(driver(), 5, "sensor_reading", 82.5, event_id="e-1") == [
        DeviceAlert(
            "TEMPERATURE_ALERT", "d1", START + 5, "active", "e-1", "plant", "hall", temperature=82.5, threshold=75.0
        )
    ]


@pytest.mark.parametrize(("reading", "alerts"), [(74.99, 0), (75.0, 0), (75.000001, 1), (-300.0, 0), (1e300, 1)])
def test_only_above_the_threshold(reading: float, alerts: int) -> None:
    task = driver()
    assert len(pipe(task, 0, "sensor_reading", reading)) == alerts
    assert (device(task).last_temp, device(task).status) == (reading, "active")


def test_the_threshold_is_a_setting() -> None:
    task = driver(DeviceAlertsSettings(temperature_threshold=-5))
    (alert,) = pipe(task, 0, "sensor_reading", -4.0)
    assert alert.threshold == -5.0
    assert pipe(task, 1, "sensor_reading", -5.0) == []


def test_every_hot_reading_alerts_by_default() -> None:
    task = driver()
    assert [len(pipe(task, at, "sensor_reading", 80.0)) for at in (0, 0, 1, 2)] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "reading"),
    [("76.5", 76.5), ("76", 76.0), ("+76.", 76.0), ("-.5", -0.5), ("7.65e1", 76.5), ("0000", 0.0), ("1E-400", 0.0)],
)
def test_text_that_is_a_number_is_that_reading(text: str, reading: float) -> None:
    task = driver()
    assert types(pipe(task, 0, "sensor_reading", text)) == ["TEMPERATURE_ALERT"] * (reading > 75)
    assert device(task).last_temp == reading


def test_facility_and_zone_are_the_last_known_if_the_event_names_none() -> None:
    task = driver()
    pipe(task, 0, facility="plant", zone="hall")
    (alert,) = pipe(task, 1, "sensor_reading", 80.0, facility=None, zone="")
    assert (alert.facility, alert.zone) == ("plant", "hall")
    (moved,) = pipe(task, 2, "sensor_reading", 80.0, facility="annex", zone="roof")
    assert (moved.facility, moved.zone) == ("annex", "roof")
    assert (device(task).facility, device(task).zone) == ("annex", "roof")


class TestMuting:
    SETTINGS = DeviceAlertsSettings(realert_after_ms=MINUTE)

    def test_hot_readings_soon_after_an_alert_are_muted(self) -> None:
        task = driver(self.SETTINGS)
        alerts = [len(pipe(task, at, "sensor_reading", 80.0)) for at in (0, 1, MINUTE - 1, MINUTE, 2 * MINUTE - 1)]
        assert alerts == [1, 0, 0, 1, 0]

    def test_cooling_down_in_between_does_not_end_the_muting(self) -> None:
        task = driver(self.SETTINGS)
        readings = [(0, 80.0), (1, 20.0), (2, 80.0)]
        assert [len(pipe(task, at, "sensor_reading", reading)) for at, reading in readings] == [1, 0, 0]

    def test_a_muted_reading_still_counts_as_the_last_one(self) -> None:
        task = driver(self.SETTINGS)
        pipe(task, 0, "sensor_reading", 80.0)
        pipe(task, 1, "sensor_reading", 90.0)
        assert (device(task).last_temp, device(task).last_seen) == (90.0, START + 1)

    def test_muting_is_per_device(self) -> None:
        task = driver(self.SETTINGS)
        assert [len(pipe(task, 0, "sensor_reading", 80.0, key)) for key in ("d1", "d2")] == [1, 1]

    @pytest.mark.parametrize(("at", "alerts"), [(10 * MINUTE - 1, 0), (9 * MINUTE + 1, 0), (9 * MINUTE, 1), (0, 1)])
    def test_a_late_reading_is_muted_only_if_an_alert_is_near(self, at: int, alerts: int) -> None:
        task = driver(self.SETTINGS)
        pipe(task, 10 * MINUTE, "sensor_reading", 80.0)
        assert len(pipe(task, at, "sensor_reading", 80.0)) == alerts
        assert device(task).alerted_at == START + 10 * MINUTE

    def test_other_alerts_are_never_muted(self) -> None:
        task = driver(self.SETTINGS)
        pipe(task, 0, "sensor_reading", 80.0)
        assert types(pipe(task, 1, "error", "E1") + pipe(task, 2, "status_update", "idle")) == [
            "ERROR",
            "STATUS_UPDATE",
        ]
