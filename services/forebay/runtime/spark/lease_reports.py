"""The statistics that a lease reports of its group's tasks."""

from __future__ import annotations

from collections.abc import Iterator

from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.task.statistics import TaskFigures


def final_reports(runner: GroupRunner) -> list[str]:
    """Return the last statistics of all tasks as JSON, for the result of their lease."""
    reports = []
    for figures in measured_figures(runner):
        figures.sign(now_ms())
        reports.append(figures.to_json())
    return reports


def measured_figures(runner: GroupRunner) -> Iterator[TaskFigures]:
    """Measure the lag, then yield the statistics of all tasks: a generator, so that it runs only for a sent report."""
    runner.group.measure_lag()
    for task in runner.group.tasks:
        yield task.figures
