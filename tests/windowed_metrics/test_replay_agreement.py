"""The logic and the independent replay produce the same outputs, late records and windows for any input."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plain import plain
from tests.windowed_metrics.harness import driver, stored_windows
from tests.windowed_metrics.replay import Replay
from windowed_metrics.model import Alerting, ServerMetric
from windowed_metrics.settings import EmitResults, WindowedMetricsSettings

pytestmark = pytest.mark.long

names = st.sampled_from(["a", "b", "c", ""])
values = st.one_of(st.floats(-100, 100), st.sampled_from([float("nan"), float("inf"), 1.7e308, 80.0]))
thresholds = st.sampled_from([None, 0.0, 80.0])
events = st.builds(
    ServerMetric,
    metric_id=st.one_of(st.none(), st.integers(0, 30).map(str)),
    metric_name=names,
    value=values,
    unit=st.one_of(st.none(), names),
    timestamp=st.integers(0, 120),
    datacenter=st.one_of(st.none(), names),
    environment=st.one_of(st.none(), names),
    service=st.one_of(st.none(), names),
    alerting=st.one_of(st.none(), st.builds(Alerting, st.booleans(), thresholds, thresholds)),
)
steps = st.lists(
    st.one_of(st.tuples(st.sampled_from(["s1", "s2", "s:3"]), events), st.integers(1, 40), st.none()), max_size=50
)
rules = st.builds(
    WindowedMetricsSettings,
    window_ms=st.integers(1, 20),
    grace_ms=st.integers(0, 15),
    retention_ms=st.integers(35, 60),
    emit_results=st.sampled_from(EmitResults),
    idle_timeout_ms=st.integers(0, 50),
    samples=st.integers(1, 5),
    list_limit=st.integers(1, 3),
)


@settings(deadline=None, max_examples=100)
@given(steps, rules, st.sampled_from([0, 50, 600_000]))
def test_same_results(
    script: list[tuple[str, ServerMetric] | int | None], rule: WindowedMetricsSettings, dedupe_retention_ms: int
) -> None:
    """A step is an event, idle time (ms), or a restart (None)."""
    fields = {name: getattr(rule, name) for name in rule.__slots__}
    task = driver({"dedupe_retention_ms": dedupe_retention_ms}, **fields)
    model = Replay(**fields | {"emit_results": rule.emit_results.value}, dedupe_retention_ms=dedupe_retention_ms)
    idle_ms = 0
    for step in script:
        if step is None:
            task.restart()
        elif isinstance(step, int):
            idle_ms += step
            task.advance_wall_time(step)
            model.idle(idle_ms)
        else:
            idle_ms = 0
            task.pipe(*step)
            model.take(step[0], plain(step[1]), step[1].timestamp)
    assert [(o.key, plain(o.value), o.timestamp) for o in task.outputs] == model.outputs
    assert [int(record.headers["late.by_ms"]) for record in task.late] == [by_ms for _, _, by_ms in model.late]
    assert stored_windows(task) == model.stored_windows()
