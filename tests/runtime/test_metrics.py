"""Reports of tasks are counted once, regardless of the worker that runs the task."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from forebay.runtime.observability.metrics import JobMetrics, since
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures

COUNTED = [
    ("forebay_records_out_total", {"kind": "errors"}),
    ("forebay_records_out_total", {"kind": "late"}),
    ("forebay_records_out_total", {"kind": "output"}),
    ("forebay_duplicates_total", {}),
    ("forebay_query_restarts_total", {}),
]
LATER = 1 << 50
"""A time (ms) after any start of a job."""


def task_figures(at: int = 0, part: int = 0, task: int = 0, **counts: int) -> TaskFigures:
    figures = TaskFigures(part, task, opened=LATER, at=LATER + at, worker=1)
    return replace(figures, **counts)  # type: ignore[arg-type]


def value(metrics: JobMetrics, name: str, /, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, {"service": "user-sessions", **labels})


@pytest.fixture
def metrics() -> JobMetrics:
    return JobMetrics("user-sessions")


@pytest.mark.parametrize(("name", "labels"), COUNTED)
def test_counters_in_alerts_begin_at_zero(metrics: JobMetrics, name: str, labels: dict[str, str]) -> None:
    assert value(metrics, name, **labels) == 0


def test_records_between_two_reports_are_counted(metrics: JobMetrics) -> None:
    metrics.observe([task_figures(1, outputs=5, errors=2, late=1)])
    metrics.observe([task_figures(2, outputs=9, errors=2, late=2)])
    assert [value(metrics, name, **labels) for name, labels in COUNTED[:3]] == [2, 2, 9]


def test_a_report_that_is_read_twice_is_counted_once(metrics: JobMetrics) -> None:
    assert len(metrics.observe([task_figures(1, outputs=5)])) == 1
    assert metrics.observe([task_figures(1, outputs=5)]) == []
    assert value(metrics, "forebay_records_out_total", kind="output") == 5


def test_counts_of_another_worker_for_the_task_are_added(metrics: JobMetrics) -> None:
    metrics.observe([task_figures(1, outputs=5)])
    metrics.observe([replace(task_figures(2, outputs=3), opened=LATER + 1, worker=2)])
    assert value(metrics, "forebay_records_out_total", kind="output") == 8


def test_each_task_is_counted_separately(metrics: JobMetrics) -> None:
    metrics.observe(
        [task_figures(1, task=0, outputs=5), task_figures(1, task=1, outputs=7), task_figures(1, part=1, outputs=1)]
    )
    assert value(metrics, "forebay_records_out_total", kind="output") == 13


def test_the_difference_has_counts_subtracted_and_the_rest_as_it_is_now() -> None:
    before = replace(task_figures(1, commits=4), records_in={"t": 3}, conversions=["a"], seconds={"commit": 1.0})
    now = replace(
        task_figures(2, commits=6, state_rows=11),
        records_in={"t": 5, "u": 2},
        conversions=["a", "b"],
        seconds={"commit": 1.5},
    )
    passed = since(before, now)
    assert (passed.commits, passed.records_in, passed.conversions) == (2, {"t": 2, "u": 2}, ["b"])
    assert (passed.seconds, passed.state_rows, passed.at) == ({"commit": 0.5}, 11, LATER + 2)


def test_latencies_are_a_histogram(metrics: JobMetrics) -> None:
    counts = [0] * (len(LATENCY_MS) + 1)
    counts[0], counts[-1] = 3, 1
    metrics.observe([replace(task_figures(1, latency_ms=70_012), latencies=counts)])
    name = "forebay_end_to_end_latency_seconds"
    assert value(metrics, f"{name}_bucket", le="0.005") == 3
    assert value(metrics, f"{name}_bucket", le="60.0") == 3
    assert value(metrics, f"{name}_bucket", le="+Inf") == 4
    assert value(metrics, f"{name}_sum") == pytest.approx(70.012)


def test_figures_survive_as_text() -> None:
    figures = replace(task_figures(3, outputs=2), records_in={"t": 1}, conversions=["x"], seconds={"commit": 0.25})
    assert TaskFigures.from_json(figures.to_json()) == figures


def test_unknown_fields_of_a_newer_release_are_ignored() -> None:
    newer = {**json.loads(task_figures(1, outputs=5).to_json()), "of_a_later_release": 1}
    assert TaskFigures.from_json(json.dumps(newer)) == task_figures(1, outputs=5)


def test_results_are_counted_by_topic(metrics: JobMetrics) -> None:
    for at, count in ((1, 5), (2, 9)):
        figures = task_figures(at, outputs=count)
        figures.sent = {"totals": count - 1, "alerts": 1}
        metrics.observe([figures])
    assert value(metrics, "forebay_records_produced_total", topic="totals") == 8
    assert value(metrics, "forebay_records_produced_total", topic="alerts") == 1


def test_records_between_steps_are_counted_by_edge(metrics: JobMetrics) -> None:
    for at, passed in ((1, {"1 2": 5}), (2, {"1 2": 9, "2 10": 1})):
        metrics.observe([replace(task_figures(at), passed=passed)])
    assert value(metrics, "forebay_edge_records_total", subtopology="0", from_node="1", to_node="2") == 9
    assert value(metrics, "forebay_edge_records_total", subtopology="0", from_node="2", to_node="10") == 1


def test_too_many_edge_counts_are_omitted_in_favor_of_store_statistics() -> None:
    many = {f"{n} {n + 1}": 10**9 for n in range(400)}
    decoded = TaskFigures.from_json(replace(task_figures(), passed=many, stores={"n": [1] * 4}).to_json())
    assert (decoded.passed, decoded.stores) == ({}, {"n": [1] * 4})


def test_counters_of_the_logic_are_shown_by_name(metrics: JobMetrics) -> None:
    for at, own in ((1, {"seen{kind=a}": 2.0}), (2, {"seen{kind=a}": 5.0, "late": 1.0})):
        metrics.observe([replace(task_figures(at), own=own)])
    assert value(metrics, "forebay_user_counter_total", name="seen{kind=a}") == 5
    assert value(metrics, "forebay_user_counter_total", name="late") == 1


def test_a_report_contains_as_many_counters_of_the_logic_as_fit() -> None:
    figures = task_figures(1)
    figures.note({f"{number:03d}{'x' * 97}": 1.0 for number in range(100)})
    assert 5 < len(figures.own) < 20
    assert min(figures.own).startswith("000")
    assert len(figures.to_json()) < 3_000


def test_stores_report_their_size_and_calls(metrics: JobMetrics) -> None:
    metrics.observe(
        [
            replace(task_figures(1), stores={"n": [3, 90, 5, 7]}),
            replace(task_figures(1, task=1), stores={"n": [1, 9, 1, 1]}),
        ]
    )
    metrics.observe([replace(task_figures(2), stores={"n": [2, 60, 6, 9]})])
    assert [value(metrics, f"forebay_store_{name}", store="n", task="0") for name in ("rows", "bytes")] == [2, 60]
    assert [value(metrics, f"forebay_store_{name}_total", store="n") for name in ("puts", "gets")] == [7, 10]


def test_a_restore_reports_its_rows_time_and_rate(metrics: JobMetrics) -> None:
    assert value(metrics, "forebay_restored_rows_total") == 0
    metrics.observe([replace(task_figures(1, restored_rows=500), restore_seconds=2.0)])
    metrics.observe([replace(task_figures(2, restored_rows=500, tail_rows=4), restore_seconds=2.0)])
    assert value(metrics, "forebay_restored_rows_total") == 500
    assert value(metrics, "forebay_restore_seconds_total") == 2.0
    assert value(metrics, "forebay_restore_rows_per_second", subtopology="0", stage="0", task="0") == 250.0
    assert value(metrics, "forebay_rows_since_snapshot", subtopology="0", task="0") == 4


def test_many_stores_leave_space_for_the_common_report() -> None:
    few, many = ({f"store-{n}": [n] * 4 for n in range(count)} for count in (5, 500))
    assert TaskFigures.from_json(replace(task_figures(), stores=few).to_json()).stores == few
    text = replace(task_figures(), stores=many).to_json()
    assert (TaskFigures.from_json(text).stores, len(text) < 4_096) == ({}, True)
