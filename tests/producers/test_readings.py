"""Sensors stay in their area and report values that are usual there."""

from collections import Counter, defaultdict
from itertools import pairwise
from statistics import mean

import pytest

from forebay.producing.base import Event, Options
from forebay.producing.sources import generate
from sensor_views.model import Reading

SENSORS = 60


@pytest.fixture(scope="module")
def events() -> list[Event[Reading]]:
    return list(generate("readings", Options(count=10_000, keys=SENSORS)))


def test_records_are_keyed_by_sensor_at_their_time(events: list[Event[Reading]]) -> None:
    assert all(event.key == event.value.sensor for event in events)
    assert all(event.timestamp == event.value.timestamp for event in events)
    assert len({event.value.event_id for event in events}) == len(events)
    assert len({event.key for event in events}) == SENSORS


def test_a_sensor_is_in_one_area_and_an_area_has_many(events: list[Event[Reading]]) -> None:
    areas: dict[str, set[str]] = defaultdict(set)
    for event in events:
        areas[event.key].add(event.value.area)
    assert all(len(area) == 1 for area in areas.values())
    sensors = Counter(next(iter(area)) for area in areas.values())
    assert len(sensors) > 5
    assert sum(sensors.values()) == SENSORS


def test_areas_have_temperatures_of_their_own(events: list[Event[Reading]]) -> None:
    readings: dict[str, list[float]] = defaultdict(list)
    for event in events:
        readings[event.value.area].append(event.value.reading)
    assert 170 < mean(readings["muffler"]) < 190
    assert 15 < mean(readings["cabin"]) < 27
    assert all(max(reading) > min(reading) for reading in readings.values())


def test_some_sensors_report_more_often(events: list[Event[Reading]]) -> None:
    counts = [count for _, count in Counter(event.key for event in events).most_common()]
    assert counts[0] > 3 * counts[-1]


def test_the_same_options_give_the_same_readings_and_others_other_ids() -> None:
    options = Options(count=300, keys=20, out_of_order=0.1, duplicates=0.1)
    readings = list(generate("readings", options))
    assert readings == list(generate("readings", options))
    others = generate("readings", Options(count=300, keys=20, seed=2))
    assert not {reading.value.event_id for reading in readings} & {other.value.event_id for other in others}


def test_late_readings_come_when_asked_for() -> None:
    events = list(generate("readings", Options(count=1000, keys=20, out_of_order=0.2)))
    assert sum(after.timestamp < before.timestamp for before, after in pairwise(events)) > 50
