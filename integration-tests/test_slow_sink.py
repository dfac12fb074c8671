"""A slow broker slows the job down. The job reads no more than it can write, and loses nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import Bench
from job_process import JobProcess
from quotas import limit_producer

from forebay.platform import Platform
from forebay.producing.base import Options

CLIENT = "slow-sink"
BYTES_PER_SECOND = 150_000
FAST = 1_000_000_000
COUNT = 40_000
EVENTS = Options(count=COUNT, keys=100, seed=41, duplicates=0.02, malformed=0.02)
COMMITS = ("--max-records-per-commit", "800", "-X", f"client.id={CLIENT}")
QUEUE = 64 << 20
"""Maximum number of bytes in the queue of a task's producer."""


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "slow-sink", tmp_path)
    limit_producer(bench.settings.bootstrap_servers, CLIENT, BYTES_PER_SECOND)
    yield bench
    bench.close()
    limit_producer(bench.settings.bootstrap_servers, CLIENT, 0)


def metric(job: JobProcess, name: str, **labels: str) -> float:
    """Return the sum of a metric over all series with these labels."""
    _, text = job.http("/metrics")
    lines = [line for line in text.splitlines() if re.match(rf"{name}[{{ ]", line)]
    return sum(float(line.rpartition(" ")[2]) for line in lines if all(f'{k}="{v}"' in line for k, v in labels.items()))


def memory(job: JobProcess) -> int:
    return sum(worker.memory_info().rss for worker in job.workers())


@pytest.mark.timeout(600)
def test_the_job_waits_for_the_broker_reports_its_lag_and_loses_nothing(bench: Bench) -> None:
    bench.produce(EVENTS)
    job = bench.job(*COMMITS)
    job.until(lambda: job.records_in() > 0, "a commit with records is through")
    before = memory(job)
    job.until_commits(5)
    waiting = metric(job, "forebay_lag_records")
    assert 0 < waiting < COUNT, "the reported lag is not that of a job in progress"
    assert memory(job) - before < QUEUE
    assert "the query failed" not in job.text()

    limit_producer(bench.settings.bootstrap_servers, CLIENT, FAST)
    job.until(bench.has_read_everything, "all is read once the broker is fast again")
    job.until(lambda: metric(job, "forebay_lag_records") == 0, "the reported lag is 0")
    assert job.terminate() == 0
    assert sum(map(len, bench.check().outputs.values())) > 5_000
