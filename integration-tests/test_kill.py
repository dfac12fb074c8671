"""Processes of a running job are killed: read_committed output, state and errors still equal the replay exactly."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from bench import Bench, Rules
from job_process import JobProcess
from topic_reading import MarkerWatch

from forebay.platform import Platform
from producers.base import Options

STEADY = Options(rate=400, keys=200, seed=11, out_of_order=0.1, duplicates=0.05, malformed=0.01, max_delay_ms=500)
SMALL_BATCHES = ("--max-records-per-batch", "4000", "--tick-ms", "0")


class Load:
    """Sends events at a steady rate from a thread of its own until it is closed."""

    def __init__(self, bench: Bench) -> None:
        self._closed = threading.Event()
        self._thread = threading.Thread(target=bench.produce, args=(STEADY, self._closed.is_set))
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        self._thread.join()


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "kill", tmp_path, Rules(idle_timeout_ms=1_500, dedupe_retention_ms=2_000))
    yield bench
    bench.close()


@pytest.fixture
def load(bench: Bench) -> Iterator[Load]:
    load = Load(bench)
    yield load
    load.close()


@pytest.fixture
def markers(bench: Bench) -> Iterator[MarkerWatch]:
    markers = bench.markers()
    yield markers
    markers.close()


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_killed_at_any_moment_the_job_is_exact(bench: Bench, load: Load, markers: MarkerWatch) -> None:
    random = Random(5)

    job = bench.job(*SMALL_BATCHES)
    job.until_batch()
    until_half_committed(job, markers)
    job.kill()
    half = markers.read()
    assert len({marker["n"] for marker in half.values()}) > 1, "the kill came too late to be in mid-batch"

    job = bench.job(*SMALL_BATCHES)
    job.until_batch()
    assert job.batches()[0]["replayed_tasks"] > 0, "what had been committed was not recognized"
    kill_one_worker(job)
    kill_after(job, markers, random.uniform(0, 2))
    job.kill_driver_and_jvm()

    job = bench.job(*SMALL_BATCHES)
    job.until_batch()
    kill_after(job, markers, random.uniform(0, 2))
    job.jvm().kill()
    assert job.finish(60) != 0, "a driver without its JVM must end, so that it is started again"

    load.close()
    bench.drain(*SMALL_BATCHES)
    markers.read()
    expected = bench.check()
    assert sum(map(len, expected.outputs.values())) > 5_000
    assert len(expected.errors) > 50


def until_half_committed(job: JobProcess, markers: MarkerWatch) -> None:
    """Wait for a moment at which some tasks of a batch have committed and others have not."""
    job.until(
        lambda: len({marker["n"] for marker in markers.read().values()}) > 1, "a batch is committed by some tasks only"
    )


def kill_one_worker(job: JobProcess) -> None:
    """Kill a Python worker; Spark runs its task again in another one."""
    (worker, *_) = job.workers()
    worker.kill()
    before = len(job.batches())
    job.until(lambda: len(job.batches()) >= before + 2, "batches go through after a worker was killed")


def kill_after(job: JobProcess, markers: MarkerWatch, seconds: float) -> None:
    """Let the job run for a time chosen by chance, watching its markers."""
    end = time.monotonic() + seconds
    job.until(lambda: bool(markers.read()) and time.monotonic() > end, "a moment chosen by chance")
