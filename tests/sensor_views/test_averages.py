"""Each reading updates the averages of its sensor and its area, and both rows are sent."""

import pytest

from forebay.catalog import COMPACTED, find_service
from forebay.processor.engine_settings import Emit
from sensor_views.model import Reading
from tests.plain import plain
from tests.sensor_views.harness import START, Machine


def test_a_reading_gives_a_row_of_each_view() -> None:
    by_sensor, by_area = Machine().read(45.0, "s-1", "wheel", at=5)
    assert (by_sensor.topic, by_sensor.key, by_sensor.timestamp) == ("avg_readings", "s-1", START + 5)
    assert plain(by_sensor.value) == {"sensor": "s-1", "avg_reading": 45.0}
    assert (by_area.topic, by_area.key, by_area.timestamp) == ("part_avg", "wheel", START + 5)
    assert plain(by_area.value) == {"area": "wheel", "avg_reading": 45.0}


def test_a_sensor_s_readings_are_averaged() -> None:
    machine = Machine()
    for reading in (45.0, 42.0, 48.0, 41.0):
        machine.read(reading)
    assert machine.averages("avg_readings") == {"s-1": 44.0}


def test_an_area_s_average_is_that_of_all_its_readings_not_of_its_sensors_averages() -> None:
    machine = Machine(tasks=4)
    for sensor, reading in (("s-1", 10.0), ("s-1", 10.0), ("s-1", 10.0), ("s-2", 50.0)):
        machine.read(reading, sensor, "wheel")
    machine.read(7.0, "s-3", "motor")
    assert machine.averages("avg_readings") == {"s-1": 10.0, "s-2": 50.0, "s-3": 7.0}
    assert machine.averages("part_avg") == {"wheel": 20.0, "motor": 7.0}


def test_readings_of_a_moved_sensor_stay_in_their_area() -> None:
    machine = Machine()
    machine.read(10.0, "s-1", "wheel")
    machine.read(20.0, "s-1", "motor")
    assert machine.averages("avg_readings") == {"s-1": 15.0}
    assert machine.averages("part_avg") == {"wheel": 10.0, "motor": 20.0}


def test_a_late_reading_counts_and_does_not_move_time_backwards() -> None:
    machine = Machine()
    machine.read(10.0, at=9_000_000)
    by_sensor, by_area = machine.read(20.0, at=4)
    assert (by_sensor.value.avg_reading, by_sensor.timestamp) == (15.0, START + 9_000_000)
    assert (by_area.value.avg_reading, by_area.timestamp) == (15.0, START + 9_000_000)
    assert machine.driver.late == []


def test_negative_readings_and_zeros_are_readings() -> None:
    machine = Machine()
    for reading in (-4.0, 0.0, -0.0, 4.0):
        machine.read(reading)
    assert machine.averages("avg_readings") == {"s-1": 0.0}


@pytest.mark.parametrize("order", [[0.1] * 10, [1e16, 1.0, -1e16, 2.0], [1.0, 1e16, 2.0, -1e16]])
def test_averages_are_exact_in_any_order(order: list[float]) -> None:
    machine = Machine()
    for reading in order:
        machine.read(reading)
    assert machine.averages("avg_readings") == {"s-1": 0.1 if 0.1 in order else 0.75}


def test_averages_continue_after_a_restart() -> None:
    machine = Machine(tasks=2)
    machine.read(10.0)
    machine.driver.restart()
    machine.read(20.0)
    assert machine.averages("avg_readings") == {"s-1": 15.0}
    assert machine.averages("part_avg") == {"wheel": 15.0}


def test_emit_latest_sends_one_row_per_batch() -> None:
    machine = Machine(emit=Emit.LATEST)
    machine.driver.run_batch([("s-1", Reading(None, "s-1", "wheel", value, START)) for value in (10.0, 20.0, 60.0)])
    assert [(out.topic, out.value.avg_reading) for out in machine.driver.outputs] == [
        ("avg_readings", 30.0),
        ("part_avg", 30.0),
    ]


def test_the_topics_are_compacted() -> None:
    assert [topic.config for topic in find_service("sensor-views").outputs] == [COMPACTED, COMPACTED]
