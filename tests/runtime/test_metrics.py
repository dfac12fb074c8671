"""Figures of a job that has not done anything yet."""

from __future__ import annotations

import pytest
from forebay.runtime.batch import TaskReport

from forebay.runtime.metrics import JobMetrics

COUNTED = [
    ("forebay_records_out_total", {"kind": "errors"}),
    ("forebay_records_out_total", {"kind": "late"}),
    ("forebay_records_out_total", {"kind": "output"}),
    ("forebay_duplicates_total", {}),
    ("forebay_query_restarts_total", {}),
]


@pytest.mark.parametrize(("name", "labels"), COUNTED)
def test_what_alerts_take_the_increase_of_begins_at_zero(name: str, labels: dict[str, str]) -> None:
    metrics = JobMetrics("user-sessions")
    assert metrics.registry.get_sample_value(name, {"service": "user-sessions", **labels}) == 0


def test_only_what_was_sent_now_is_counted_as_sent() -> None:
    metrics = JobMetrics("user-sessions")
    metrics.observe(
        0.1, [TaskReport(step="produce", outputs=5, errors=2, late=1), TaskReport(step="replay", outputs=9, errors=3)]
    )
    counted = [
        metrics.registry.get_sample_value(name, {"service": "user-sessions", **labels}) for name, labels in COUNTED[:3]
    ]
    assert counted == [2, 1, 5]
