"""The final stores are correct and equal for any number of tasks and partitions."""

import pytest

from forebay.partitioner import partition_of
from forebay.producing.base import Options
from forebay.producing.sources import generate
from tests.order_stores.harness import driver, stores
from tests.order_stores.replay import refusals, replay, steps_by_order
from tests.order_stores.test_replay_agreement import as_replayed, results

pytestmark = pytest.mark.long

OPTIONS = Options(count=3000, keys=40, event_rate=20, out_of_order=0.05, duplicates=0.03)
ARRIVED = list(generate("order_events", OPTIONS))
BATCH = 250


@pytest.mark.parametrize(("tasks", "partitions"), [(1, 4), (2, 4), (4, 4), (1, 1), (1, 5), (5, 5)])
def test_same_stores_as_the_replay(tasks: int, partitions: int) -> None:
    job = driver(tasks, partitions)
    for start in range(0, len(ARRIVED), BATCH):
        job.run_batch([(event.key, event.value) for event in ARRIVED[start : start + BATCH]])

    def task_of(key: str) -> int:
        return partition_of(key.encode(), partitions) % tasks

    outputs, states = replay(as_replayed(ARRIVED), task_of=task_of)
    assert stores(job) == states
    assert steps_by_order(results(job)) == steps_by_order(outputs)
    assert len(job.outputs) == len(outputs) > 2000
    assert len(job.errors) == len(refusals(as_replayed(ARRIVED), task_of=task_of)) > 0
    assert all(len(held) >= 8 for held in states.values())


def test_batch_boundaries_do_not_change_results() -> None:
    whole, apart = driver(2, 4), driver(2, 4)
    whole.run_batch([(event.key, event.value) for event in ARRIVED[:600]])
    for event in ARRIVED[:600]:
        apart.pipe(event.key, event.value)
    assert stores(whole) == stores(apart)
    assert steps_by_order(results(whole)) == steps_by_order(results(apart))
