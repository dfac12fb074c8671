"""Invalid readings go to .errors and change neither view."""

import math

import pytest

from sensor_views.model import Reading
from tests.sensor_views.harness import START, Machine


@pytest.mark.parametrize(
    ("reading", "sensor", "area", "reason"),
    [
        (math.nan, "s-1", "wheel", "reading is nan: the producer must send a finite number"),
        (math.inf, "s-1", "wheel", "reading is inf: the producer must send a finite number"),
        (-math.inf, "s-1", "wheel", "reading is -inf: the producer must send a finite number"),
        (1.0, "", "wheel", "sensor is empty: the producer must name the sensor"),
        (1.0, "s-1", "", "area is empty: the producer must name the area the sensor is in"),
    ],
)
def test_it_is_rejected_with_the_reason(reading: float, sensor: str, area: str, reason: str) -> None:
    machine = Machine()
    machine.read(5.0)
    assert machine.read(reading, sensor, area) == []
    (failure,) = machine.driver.errors
    assert (failure.headers["error.stage"], failure.headers["error.message"]) == ("process", reason)
    assert machine.averages("avg_readings") == {"s-1": 5.0}
    assert machine.averages("part_avg") == {"wheel": 5.0}


def test_a_reading_under_another_key_than_its_sensor_is_rejected() -> None:
    machine = Machine()
    assert machine.driver.pipe("s-2", Reading(None, "s-1", "wheel", 1.0, START)) == []
    (failure,) = machine.driver.errors
    assert (
        "sensor is 's-1' but the record's key is 's-2': the producer must key readings by sensor"
        in (failure.headers["error.message"])
    )


def test_sum_beyond_the_range_of_double_is_rejected_and_keeps_the_average() -> None:
    machine = Machine()
    machine.read(1.7e308)
    assert machine.read(1.7e308) == []
    assert "is beyond what a double holds" in machine.driver.errors[0].headers["error.message"]
    assert machine.averages("avg_readings") == {"s-1": 1.7e308}


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [(b"s-1", b"\x02", "bytes"), (b"s-1", None, "value is null"), (None, b"\x02", "key is null")],
)
def test_undecodable_records_change_nothing(key: bytes | None, value: bytes | None, reason: str) -> None:
    machine = Machine()
    assert machine.driver.pipe_bytes(key, value, START) == []
    (failure,) = machine.driver.errors
    assert failure.headers["error.stage"] == "decode"
    assert reason in failure.headers["error.message"]
    assert machine.averages("avg_readings") == {}


def test_a_negative_time_is_an_error() -> None:
    machine = Machine()
    assert machine.read(1.0, at=-START - 1) == []
    assert "event time -1 is negative" in machine.driver.errors[0].headers["error.message"]


def test_a_repeated_event_id_is_counted_once() -> None:
    machine = Machine()
    machine.read(10.0, event_id="e-1")
    assert machine.read(99.0, event_id="e-1") == []
    assert machine.read(20.0, event_id="e-2")[0].value.avg_reading == 15.0
    assert machine.driver.duplicates == 1


def test_readings_without_an_id_are_never_repetitions() -> None:
    machine = Machine()
    machine.read(10.0)
    machine.read(10.0)
    assert machine.totals("avg_readings")["s-1"][1] == 2
