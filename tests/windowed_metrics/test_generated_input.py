"""For generated input with late and repeated records, the results equal those of the independent replay."""

from collections import Counter

import pytest

from forebay.producing.base import Options
from forebay.producing.sources import generate
from tests.plain import plain
from tests.windowed_metrics.harness import driver, stored_windows
from tests.windowed_metrics.replay import replay
from windowed_metrics.settings import EmitResults

pytestmark = pytest.mark.long

OPTIONS = Options(count=6000, keys=8, seed=3, event_rate=2, out_of_order=0.1, duplicates=0.05, max_delay_ms=400_000)


@pytest.mark.parametrize("emit_results", EmitResults)
def test_outputs_and_windows_equal_the_replay(emit_results: EmitResults) -> None:
    records = [(event.key, event.value) for event in generate("server_metrics", OPTIONS)]
    task = driver(emit_results=emit_results)
    for at in range(0, len(records), 700):
        task.run_batch(records[at : at + 700])
        task.restart()
    task.advance_wall_time(300_000)
    outputs, windows = replay(
        [(key, plain(event), event.timestamp) for key, event in records],
        emit_results=emit_results.value,
        idle_ms=300_000,
    )
    assert [(o.key, plain(o.value), o.timestamp) for o in task.outputs] == outputs
    assert stored_windows(task) == windows
    assert task.late
    assert task.duplicates > 200
    assert task.errors == []


def test_generated_input_contains_windows_with_alerts() -> None:
    options = Options(count=12_000, keys=30, event_rate=3)
    records = [(event.key, event.value) for event in generate("server_metrics", options)]
    task = driver(emit_results=EmitResults.FINAL)
    task.run_batch(records)
    statuses = Counter(output.value.alerting.status for output in task.outputs)
    assert statuses["normal"] > statuses["warning"] > statuses["critical"] > 0
