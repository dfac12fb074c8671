"""For one release, metrics have the names and labels of the previous release, too (CHANGELOG.md, "Moving to 0.3.0")."""

from __future__ import annotations

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry

from forebay.queries.metrics import QueryMetrics
from forebay.runtime.maintenance.standby_metrics import StandbyMetrics
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.task.statistics import TaskFigures

PLACE = {"stage": "1", "task": "3"}
FORMER = [
    ("forebay_commit_part_seconds_total", {"part": "commit"}, 0.5),
    ("forebay_task_cpu_seconds_total", {"phase": "process", "part": "process"}, 0.25),
    ("forebay_records_handed_total", {"stage": "totals"}, 7),
    ("forebay_results_total", {"topic": "alerts"}, 2),
    ("forebay_step_records_total", {"stage": "1", "origin": "4", "step": "5"}, 6),
    ("forebay_logic_total", {"figure": "seen"}, 8),
    ("forebay_changelog_lag_rows", PLACE, 9),
    ("forebay_state_rows", {"subtopology": "1", **PLACE}, 11),
    ("forebay_state_bytes", {"subtopology": "1", **PLACE}, 12),
    ("forebay_stream_time_seconds", {"subtopology": "1", **PLACE}, 13),
    ("forebay_restore_rows_per_second", {"subtopology": "1", **PLACE}, 10),
]


@pytest.mark.parametrize(("name", "labels", "value"), FORMER)
def test_metrics_of_a_job_have_their_former_names(name: str, labels: dict[str, str], value: float) -> None:
    metrics = JobMetrics("sums")
    figures = TaskFigures(1, 3, opened=1 << 50, at=1 << 50, worker=1)
    figures = replace(figures, seconds={"commit": 0.5}, cpu_seconds={"process": 0.25}, records_in={"totals": 7})
    figures = replace(figures, sent={"alerts": 2}, passed={"4 5": 6}, own={"seen": 8.0}, tail_rows=9, state_rows=11)
    figures = replace(figures, state_bytes=12, stream_time=13_000, restored_rows=20, restore_seconds=2.0)
    metrics.observe([figures])
    assert metrics.registry.get_sample_value(name, {"service": "sums", **labels}) == value


def test_times_of_standby_and_query_server_have_their_former_names() -> None:
    standby = StandbyMetrics("sums")
    standby.observe(5)
    query_server = QueryMetrics("sums", registry := CollectorRegistry())
    query_server.caught_up.set(17)
    former = {"service": "sums"}
    assert registry.get_sample_value("forebay_queries_current_timestamp_seconds", former) == 17
    assert (standby.registry.get_sample_value("forebay_standby_last_round_timestamp_seconds", former) or 0) > 0
