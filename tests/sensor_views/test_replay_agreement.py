"""Both views and the independent replay produce the same rows and totals for any input and number of tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.partitioner import partition_of
from forebay.producing.base import Options
from forebay.producing.sources import generate
from forebay.records import replace
from sensor_views.model import Reading
from tests.plain import plain
from tests.sensor_views.harness import START, Machine
from tests.sensor_views.replay import VIEWS, Output, Value, replay

pytestmark = pytest.mark.long

numbers = st.one_of(
    st.sampled_from([0.1, -0.1, 20.5, 1e16, -1e16, math.nan, math.inf]),
    st.floats(-1e6, 1e6, allow_subnormal=False),
)
readings = st.builds(
    Reading,
    st.one_of(st.none(), st.integers(0, 20).map(str)),
    st.sampled_from(["s-1", "s-2", ""]),
    st.sampled_from(["wheel", "motor", ""]),
    numbers,
    st.integers(START, START + 300),
)
inputs = st.lists(st.tuples(st.sampled_from(["", "", "", "s-1"]), readings), max_size=50)


def rows_of(outputs: Iterable[Output], view: str) -> dict[str, list[Value]]:
    """Return each group's rows of a view in order."""
    groups: dict[str, list[Value]] = {}
    for topic, group, row, _ in outputs:
        if topic == view:
            groups.setdefault(group, []).append(row)
    return groups


@settings(deadline=None, max_examples=30)
@given(inputs, st.sampled_from([0, 50, 600_000]))
def test_same_rows_and_totals(arrived: list[tuple[str, Reading]], dedupe_retention_ms: int) -> None:
    machine = Machine(dedupe_retention_ms=dedupe_retention_ms)
    keyed = [(key or reading.sensor, reading) for key, reading in arrived]
    for key, reading in keyed:
        machine.driver.pipe(key, reading)
    records = [(key, plain(reading), reading.timestamp) for key, reading in keyed]
    outputs, stores = replay(records, dedupe_retention_ms)
    assert machine.results() == outputs
    assert {view: machine.totals(view) for view in VIEWS} == stores


@settings(deadline=None, max_examples=30)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_any_order_gives_the_same_averages(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    results = []
    for order in (values, shuffled):
        machine = Machine()
        machine.driver.run_batch([("s", Reading(None, "s", "wheel", value, START)) for value in order])
        results.append(plain(machine.driver.store("avg-readings")["s"].value))
    assert results[0] == results[1]


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_generated_readings_late_and_repeated(tasks: int) -> None:
    options = Options(count=800, keys=30, out_of_order=0.2, duplicates=0.05, event_rate=20)
    arrived = list(generate("readings", options))
    machine = Machine(tasks)
    for event in arrived:
        machine.driver.pipe(event.key, event.value)
    outputs, stores = replay(
        [(event.key, plain(event.value), event.timestamp) for event in arrived],
        task_of=lambda key: partition_of(key.encode(), tasks),
    )
    assert {view: machine.totals(view) for view in VIEWS} == stores
    for view in VIEWS:
        assert rows_of(machine.results(), view) == rows_of(outputs, view)
    assert len(outputs) > 2 * 700
    assert machine.driver.duplicates > 20


def test_batch_boundaries_do_not_change_totals() -> None:
    arrived = [(event.key, event.value) for event in generate("readings", Options(count=600, keys=30))]
    whole, apart = Machine(2), Machine(2)
    whole.driver.run_batch(arrived)
    for key, reading in arrived:
        apart.driver.pipe(key, replace(reading))
    for view in VIEWS:
        assert whole.totals(view) == apart.totals(view)
