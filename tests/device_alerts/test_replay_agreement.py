"""The logic and the independent replay produce the same outputs and states for any input."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from device_alerts.model import DeviceEvent
from device_alerts.settings import DeviceAlertsSettings
from forebay.producing.base import Options
from forebay.producing.sources import generate
from forebay.records import as_dict
from forebay.testing import TestDriver
from tests.device_alerts.harness import START, driver
from tests.device_alerts.replay import replay

pytestmark = pytest.mark.long

names = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from([0.0, 74.9, 75.0, 75.1, 500.0, -1.5, float("nan"), float("inf")])
texts = st.sampled_from(["", "75", "75.5", "-3e1", " 76", "7_6", "nan", "1e999", "idle", "E1"])
events = st.builds(
    DeviceEvent,
    event_id=st.none() | st.integers(0, 40).map(str),
    device_id=st.none(),
    event_type=st.sampled_from(["sensor_reading", "status_update", "error", "heartbeat", "heartbeat", "other", ""]),
    value=numbers | texts,
    timestamp=st.integers(START, START + 500),
    facility=st.none() | names,
    zone=st.none() | names | st.just(""),
)
inputs = st.lists(st.tuples(st.sampled_from(["d1", "d2", "d3"]), events), max_size=60)
choices = st.builds(
    DeviceAlertsSettings,
    heartbeat_every=st.integers(1, 4),
    offline_after_ms=st.sampled_from([0, 1, 20, 100]),
    realert_after_ms=st.sampled_from([0, 1, 60]),
)


def assert_agreement(task: TestDriver, records: list[tuple[str, DeviceEvent]], **options: Any) -> None:
    plain = [(key, as_dict(event), event.timestamp) for key, event in records]
    outputs, stores = replay(plain, **options)
    assert [(output.key, as_dict(output.value), output.timestamp) for output in task.outputs] == outputs
    assert {key: as_dict(state) for key, state in task.store("devices").items()} == stores["devices"]


@settings(deadline=None, max_examples=80)
@given(inputs, choices, st.sampled_from([0, 50, 600_000]), st.integers(1, 7))
def test_same_outputs_and_states(
    records: list[tuple[str, DeviceEvent]], chosen: DeviceAlertsSettings, dedupe_retention_ms: int, batch: int
) -> None:
    task = driver(chosen, dedupe_retention_ms=dedupe_retention_ms)
    for begin in range(0, len(records), batch):
        task.run_batch(records[begin : begin + batch])
    until = None
    if task.stream_time >= 0:
        task.advance_wall_time(1000)
        until = task.stream_time + 1000
    assert_agreement(task, records, **asdict(chosen), dedupe_retention_ms=dedupe_retention_ms, until=until)


SHARES = {"out_of_order": 0.1, "duplicates": 0.1, "max_delay_ms": 400_000}


@pytest.mark.parametrize("shares", [{}, SHARES], ids=["in order", "out of order, with duplicates"])
@pytest.mark.parametrize("realert_after_ms", [0, 60_000])
def test_generated_events_give_the_same(shares: dict[str, Any], realert_after_ms: int) -> None:
    options = Options(count=6000, keys=40, event_rate=2, seed=5, **shares)
    records = [(event.key, event.value) for event in generate("device_events", options)]
    task = driver(DeviceAlertsSettings(realert_after_ms=realert_after_ms))
    for begin in range(0, len(records), 500):
        task.run_batch(records[begin : begin + 500])
    assert_agreement(task, records, realert_after_ms=realert_after_ms)
    assert {output.value.alert_type for output in task.outputs} == {
        "TEMPERATURE_ALERT", "STATUS_UPDATE", "ERROR", "HEARTBEAT_SUMMARY", "OFFLINE", "ONLINE",
    }  # fmt: skip


@settings(deadline=None, max_examples=40)
@given(st.lists(events, max_size=20, unique_by=lambda event: event.timestamp), st.randoms())
def test_the_order_of_arrival_does_not_matter_for_the_state(arrived: list[DeviceEvent], random: Any) -> None:
    states = []
    for order in (arrived, random.sample(arrived, len(arrived))):
        task = driver(DeviceAlertsSettings(offline_after_ms=0), dedupe_retention_ms=0)
        task.run_batch([("d1", event) for event in order])
        states.append({key: as_dict(state) for key, state in task.store("devices").items()})
    for state in (state for item in states for state in item.values()):
        del state["facility"], state["zone"]
    assert states[0] == states[1]


@pytest.mark.parametrize("tasks", [2, 4])
def test_any_number_of_tasks_gives_the_same_states(tasks: int) -> None:
    options = Options(count=2000, keys=40, event_rate=2, out_of_order=0.1, max_delay_ms=20_000)
    records = [(event.key, event.value) for event in generate("device_events", options)]
    chosen = DeviceAlertsSettings(offline_after_ms=0)
    task = TestDriver("device-alerts", tasks=tasks, partitions=4, settings=chosen)
    task.run_batch(records)
    _, stores = replay([(key, as_dict(event), event.timestamp) for key, event in records], offline_after_ms=0)
    assert {key: as_dict(state) for key, state in task.store("devices").items()} == stores["devices"]
