"""Windows and sessions that close while the topic is idle are sent once, and are exact."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from service_bench import ServiceBench

from forebay.platform import Platform
from forebay.producing.base import Options

EVENTS = Options(count=300, keys=20, seed=5, start_ms=1_735_689_600_000, event_rate=10)
IDLE = ("--set", "idle_timeout_ms=1500")
IDLE_SECONDS = 6


def finals(bench: ServiceBench) -> list[dict[str, Any]]:
    values = [value for part in bench.outputs().values() for _, value, _ in part]
    if bench.service.name == "windowed-metrics":
        return [value for value in values if value["processing_info"]["window_final"]]
    return [value for value in values if value["session_status"] == "ended"]


def open_windows(bench: ServiceBench) -> set[Any]:
    """Return the keys of all windows, or the ids of all sessions, in the outputs."""
    values = [value for part in bench.outputs().values() for _, value, _ in part]
    if bench.service.name == "windowed-metrics":
        return {tuple(value["window"]["window_key"].values()) for value in values}
    return {value["session_id"] for value in values}


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("service", "arguments"),
    [("windowed-metrics", (*IDLE, "--set", "emit_results=both")), ("session-analytics", IDLE)],
)
def test_open_windows_close_on_an_idle_topic(
    platform: Platform, tmp_path: Path, service: str, arguments: tuple[str, ...]
) -> None:
    bench = ServiceBench(platform, service, f"idle-{service}", tmp_path, arguments)
    try:
        bench.produce(EVENTS)
        job = bench.job()
        job.until(bench.has_read_everything, "the input is read")
        job.until(lambda: len(finals(bench)) == len(open_windows(bench)) > 0, "everything open is closed")
        closed = finals(bench)
        assert job.terminate() == 0, job.text()
        again = bench.job()
        again.until(lambda: any("http" in line for line in again.messages()), "it serves its state")
        again.until(lambda: again.http("/readyz")[0] == 200, "it is ready with nothing to read")
        assert again.terminate() == 0, again.text()
        assert finals(bench) == closed, "closed once, also after a restart"
    finally:
        bench.close()


def test_windows_stay_open_for_records_that_arrived_while_the_job_was_frozen(
    platform: Platform, tmp_path: Path
) -> None:
    arguments = ("--set", f"idle_timeout_ms={IDLE_SECONDS * 1_000}", "--set", "emit_results=both")
    bench = ServiceBench(platform, "windowed-metrics", "idle-frozen", tmp_path, arguments)
    try:
        bench.produce(EVENTS)
        job = bench.job()
        job.until(bench.has_read_everything, "the input is read")
        assert finals(bench) == []
        with job.frozen():
            bench.produce(replace(EVENTS, seed=6))
            time.sleep(1.5 * IDLE_SECONDS)
        job.until(bench.has_read_everything, "what arrived in the meantime is read")
        assert job.terminate() == 0, job.text()
        assert bench.late() == []
    finally:
        bench.close()
