"""Devices in facilities report in turn, overheat and cool down, fail, fall silent and come back."""

import statistics
from collections import Counter, defaultdict
from itertools import pairwise

import pytest

from device_alerts.model import DeviceEvent
from forebay.producing.base import Event, Options
from forebay.producing.sources import generate

MINUTE = 60_000
OFFLINE_AFTER = 5 * MINUTE
THRESHOLD = 75.0

Events = list[Event[DeviceEvent]]


@pytest.fixture(scope="module")
def events() -> Events:
    return list(generate("device_events", Options(count=60_000, keys=200, event_rate=10)))


def by_device(events: Events) -> dict[str, list[DeviceEvent]]:
    devices: dict[str, list[DeviceEvent]] = defaultdict(list)
    for event in events:
        devices[event.key].append(event.value)
    return devices


def reading(event: DeviceEvent) -> float:
    return float(event.value)


def readings(events: list[DeviceEvent]) -> list[DeviceEvent]:
    return [event for event in events if event.event_type == "sensor_reading"]


def test_every_field_is_filled(events: Events) -> None:
    for event in events:
        value = event.value
        assert event.key == value.device_id
        assert event.timestamp == value.timestamp
        assert value.event_type
        assert value.value != ""
        assert value.facility
        assert value.zone
    assert len({event.value.event_id for event in events}) == len(events)


def test_all_devices_report_each_from_one_place(events: Events) -> None:
    devices = by_device(events)
    assert len(devices) == 200
    assert all(len({(event.facility, event.zone) for event in reports}) == 1 for reports in devices.values())
    assert len({event.value.facility for event in events}) == 5
    assert len({event.value.zone for event in events}) == 5


def test_most_events_are_readings_and_there_are_some_of_every_type(events: Events) -> None:
    counts = Counter(event.value.event_type for event in events)
    assert [kind for kind, _ in counts.most_common(3)] == ["sensor_reading", "heartbeat", "status_update"]
    assert 0.65 < counts["sensor_reading"] / len(events) < 0.75
    assert counts["error"] > 500
    assert counts.keys() - {"sensor_reading", "heartbeat", "status_update", "error"}


def test_readings_cross_the_threshold_in_peaks_and_rarely(events: Events) -> None:
    hot = 0
    peaks = 0
    for reports in by_device(events).values():
        temperatures = [reading(event) for event in readings(reports)]
        hot += sum(temperature > THRESHOLD for temperature in temperatures)
        peaks += sum(before <= THRESHOLD < after for before, after in pairwise(temperatures))
    assert 0.002 < hot / len(events) < 0.05
    assert peaks > 20
    assert hot > 2 * peaks


def test_a_device_that_overheated_cools_down(events: Events) -> None:
    for reports in by_device(events).values():
        cool = [reading(event) <= THRESHOLD for event in readings(reports)]
        assert cool.count(True) > cool.count(False)


def test_readings_swing_around_what_is_usual_for_the_device(events: Events) -> None:
    usual = [statistics.median(reading(event) for event in readings(reports)) for reports in by_device(events).values()]
    assert all(0 < temperature < 70 for temperature in usual)
    assert max(usual) - min(usual) > 30


def test_a_few_devices_send_readings_as_text(events: Events) -> None:
    kinds = {name: {type(event.value) for event in readings(reports)} for name, reports in by_device(events).items()}
    assert all(len(kind) == 1 for kind in kinds.values())
    assert 1 <= sum(kind == {str} for kind in kinds.values()) <= 15


def test_devices_report_at_regular_intervals_except_for_silences(events: Events) -> None:
    gaps = [b.timestamp - a.timestamp for reports in by_device(events).values() for a, b in pairwise(reports)]
    assert 15_000 < statistics.median(gaps) < 25_000
    assert sum(gap < 30_000 for gap in gaps) / len(gaps) > 0.99


def test_devices_fall_silent_for_longer_than_the_timeout_and_come_back(events: Events) -> None:
    gaps = [b.timestamp - a.timestamp for reports in by_device(events).values() for a, b in pairwise(reports)]
    silences = [gap for gap in gaps if gap > MINUTE]
    assert sum(gap > OFFLINE_AFTER for gap in silences) > 20
    assert sum(gap <= OFFLINE_AFTER for gap in silences) > 10
    end = events[-1].timestamp
    assert any(end - reports[-1].timestamp > OFFLINE_AFTER for reports in by_device(events).values())


def test_most_devices_report_at_any_time(events: Events) -> None:
    window = 2 * MINUTE * 10
    for begin in range(0, len(events) - window, window):
        assert len({event.key for event in events[begin : begin + window]}) >= 0.75 * 200


@pytest.mark.parametrize("keys", [1, 2, 4, 5, 6])
def test_a_handful_of_devices_is_enough(keys: int) -> None:
    options = Options(count=4000, keys=keys, event_rate=1)
    results = list(generate("device_events", options))
    assert len({event.key for event in results}) == keys
    assert any(event.value.event_type == "sensor_reading" and reading(event.value) > THRESHOLD for event in results)


def test_the_same_options_give_the_same_records_and_another_seed_others() -> None:
    options = Options(count=3000, keys=50, event_rate=5, out_of_order=0.1, duplicates=0.05, malformed=0.05)
    first = list(generate("device_events", options))
    assert list(generate("device_events", options)) == first
    other = Options(count=3000, keys=50, event_rate=5, seed=2)
    assert not {event.value.event_id for event in first} & {
        event.value.event_id for event in generate("device_events", other)
    }
