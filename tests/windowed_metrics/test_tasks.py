"""The service has the same windows and the same final results with any number of tasks."""

from collections.abc import Sequence

import pytest

from forebay.producing.base import Options
from forebay.producing.sources import generate
from forebay.testing import TestDriver
from tests.windowed_metrics.harness import START, STORE, metric
from windowed_metrics.settings import EmitResults, WindowedMetricsSettings


def run(tasks: int, partitions: int) -> tuple[Sequence[object], Sequence[object]]:
    task = TestDriver(
        "windowed-metrics",
        tasks=tasks,
        partitions=partitions,
        settings=WindowedMetricsSettings(emit_results=EmitResults.FINAL),
    )
    task.run_batch(
        (event.key, event.value) for event in generate("server_metrics", Options(count=4000, keys=20, event_rate=2))
    )
    task.advance_wall_time(300_000)
    assert task.errors == task.late == []
    return sorted(task.store(STORE)), sorted((o.key, repr(o.value), o.timestamp) for o in task.outputs)


@pytest.mark.long
@pytest.mark.parametrize(("tasks", "partitions"), [(1, 5), (2, 4), (4, 4)])
def test_number_of_tasks_and_partitions_changes_nothing(tasks: int, partitions: int) -> None:
    assert run(tasks, partitions) == run(1, 1)


def test_a_task_without_events_of_its_own_closes_its_windows_when_it_is_idle() -> None:
    """Each task has its own stream time, which events of another task do not advance."""
    task = TestDriver("windowed-metrics", tasks=4, settings=WindowedMetricsSettings(emit_results=EmitResults.FINAL))
    task.run_batch([(f"s{number}", metric(0)) for number in range(8)])
    assert task.outputs == []
    assert len(task.advance_wall_time(360_000)) == 8
    assert {output.timestamp for output in task.outputs} == {START}
