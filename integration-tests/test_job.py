"""A job in Spark commits within one lease, reports its lag, advances time while it is idle, and ends promptly."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import INPUT, Bench, Rules
from confluent_kafka import Consumer, TopicPartition
from job_process import PYTHON_PATH
from job_thread import JobThread
from service_bench import PARTITIONS

from forebay.platform import Platform
from forebay.producing.base import Options

INTERVAL_MS = 2_000
EVENTS = Options(count=400, keys=20, seed=2)


@pytest.fixture
def bench(platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    bench = Bench(platform, "job", tmp_path, Rules(idle_timeout_ms=2_000))
    yield bench
    bench.close()


@pytest.mark.timeout(240)
def test_job_commits_leases_and_reports_progress_and_lag(bench: Bench, wait_until: Callable[..., None]) -> None:
    bench.produce(EVENTS)
    job = JobThread(bench, INTERVAL_MS)
    try:
        wait_until(lambda: sum(map(len, bench.outputs().values())) >= 400, "every event has its output", 120)
        wait_until(lambda: ended_idle(bench) == 20, "the idle clock ends every user's session")
        group = Consumer(bench.settings.consumer(**{"group.id": "job-marker"}))
        places = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
        wait_until(lambda: sum(p.offset for p in group.committed(places, 10)) == 400, "the lag group has the offsets")
        group.close()
        first = batch_of(job)
        manifests = bench.snapshots()
        wait_until(lambda: bench.snapshots() - manifests, "snapshots are written although nothing comes", 60)
        assert batch_of(job) == first, "the lease lasts for longer than its snapshots' interval"
        for change in range(2):
            job.rebalance()
            wait_until(
                lambda change=change: batch_of(job) >= change, "another lease follows once the driver wants it", 60
            )
        progress = job.progress()
        assert progress is not None
        source = progress["sources"][0]
        begin, end = as_json(source["startOffset"]), as_json(source["endOffset"])
        assert end["number"] == begin["number"] + 1
        assert end["checkpoint"] == begin["checkpoint"]
        assert sum(map(len, bench.outputs().values())) == 420, "each output once"
    finally:
        job.stop()


def batch_of(job: JobThread) -> int:
    progress = job.progress()
    return -1 if progress is None else int(progress["batchId"])


def ended_idle(bench: Bench) -> int:
    return len({key for part in bench.outputs().values() for key, value, _ in part if value["current_session"] is None})


def as_json(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) else offset
