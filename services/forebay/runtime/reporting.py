"""Fills a task's report: counts, sizes, seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from forebay.processor.engine import BatchResult
from forebay.runtime.batch import TaskReport
from forebay.stores.table import Table

LATENCY_SAMPLES = 50


def describe(report: TaskReport, result: BatchResult, table: Table) -> None:
    """Fill in what a batch gave; `table` is the one before it."""
    report.outputs = len(result.outputs)
    report.errors = len(result.errors)
    report.late = len(result.late)
    report.duplicates = result.duplicates
    report.timers_fired = result.timers_fired
    report.changes = len(result.changes)
    report.conversions = [str(conversion) for conversion in result.conversions]
    report.stream_time = result.position.stream_time
    report.closing_time = result.position.closing_time
    report.state_rows = len(table) + _added_rows(result, table)
    report.state_bytes = table.size_bytes
    report.records_in = dict(result.records_by_topic)


def _added_rows(result: BatchResult, table: Table) -> int:
    added = 0
    for key, value in result.changes:
        known = table.get(key) is not None
        added += (value is not None) - known
    return added


def latencies(result: BatchResult) -> list[int]:
    """Give the time from timestamp to now for up to LATENCY_SAMPLES outputs, spread over the batch."""
    now, outputs = time.time_ns() // 1_000_000, result.outputs
    step = max(1, len(outputs) // LATENCY_SAMPLES)
    return [max(0, now - output.timestamp) for output in outputs[::step]]


@contextmanager
def timed(report: TaskReport, part: str) -> Iterator[None]:
    """Add wall and CPU time of the block to a part of the report, in seconds."""
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        yield
    finally:
        report.seconds[part] = report.seconds.get(part, 0.0) + time.perf_counter() - wall
        report.cpu_seconds[part] = report.cpu_seconds.get(part, 0.0) + time.thread_time() - cpu
