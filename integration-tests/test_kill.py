"""After processes of a job are killed, its committed outputs, state and errors still equal the replay."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import psutil
import pytest
from bench import Bench
from faults.feeder import Feeder, Steady
from faults.watch import PositionSampler
from job_process import JobProcess
from topic_reading import PositionWatch

from forebay.platform import Platform

SMALL_COMMITS = ("--max-records-per-commit", "4000", "--checkpoint-interval-ms", "60000")


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "kill", tmp_path)
    yield bench
    bench.close()


@pytest.fixture
def load(bench: Bench) -> Iterator[Feeder]:
    sampler = PositionSampler(bench)
    load = Feeder(bench, 5, sampler.ends)
    yield load
    load.close()
    sampler.close()


@pytest.fixture
def positions(bench: Bench) -> Iterator[PositionWatch]:
    positions = bench.positions()
    yield positions
    positions.close()


@pytest.mark.timeout(600)
@pytest.mark.slow
def test_killed_at_any_moment_the_job_is_exact(bench: Bench, load: Feeder, positions: PositionWatch) -> None:
    random = Random(5)

    job = bench.job(*SMALL_COMMITS)
    until_committed(job, positions, 40)
    assert not bench.snapshots(), "the kill must come before the first snapshot"
    job.kill()

    job = bench.job(*SMALL_COMMITS)
    until_committed(job, positions, 20)
    (worker, *_) = job.workers()
    worker.kill()
    until_committed(job, positions, 20)
    kill_after(job, positions, random.uniform(0, 2))
    job.kill_driver_and_jvm()

    job = bench.job(*SMALL_COMMITS)
    until_committed(job, positions, 20)
    kill_after(job, positions, random.uniform(0, 2))
    job.jvm().kill()
    assert job.finish(60) != 0, "a driver without its JVM must end, so that it is started again"

    load.close()
    bench.drain(*SMALL_COMMITS)
    positions.read()
    expected = bench.check()
    assert sum(map(len, expected.outputs.values())) > 5_000
    assert len(expected.errors) > 50


@pytest.mark.timeout(400)
def test_a_frozen_worker_is_killed_and_the_other_groups_continue(platform: Platform, tmp_path: Path) -> None:
    """A worker that is stopped, or hangs in native code, would otherwise block the leases of all groups."""
    bench = Bench(platform, "frozen", tmp_path)
    positions, load = bench.positions(), Steady(bench, rate=200)
    job = bench.job("--slots", "2", "--checkpoint-interval-ms", "10000")
    until_committed(job, positions, 40)
    frozen, *others = [worker for worker in job.workers() if len(worker.threads()) > 5]
    frozen.suspend()
    job.until(lambda: not is_there(frozen), "the frozen worker is killed", 120)
    assert all(is_there(other) for other in others)
    until_all_committed(job, positions)
    replaced = f"the worker process {frozen.pid} has ended"
    job.until(lambda: replaced in job.text(), "the operator is warned")
    counted = [line for line in job.http("/metrics")[1].splitlines() if "worker_restarts_total{" in line]
    assert float(counted[0].split()[-1]) >= 1, "other groups may have moved as well, once their leases were over"
    load.close()
    job.until(bench.has_read_everything, "everything is read")
    assert job.terminate() == 0
    bench.check()
    positions.close()
    bench.close()


def is_there(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def until_all_committed(job: JobProcess, positions: PositionWatch) -> None:
    """Wait until each task has committed again."""
    before = {place: position["n"] for place, position in positions.read().items()}

    def have_all() -> bool:
        now = positions.read()
        return all(now[place]["n"] > n for place, n in before.items())

    job.until(have_all, "a commit of every task")


def until_committed(job: JobProcess, positions: PositionWatch, count: int) -> None:
    """Wait for this number of further commits of tasks."""
    wanted = positions.commits() + count
    job.until(lambda: positions.commits() >= wanted, f"{count} commits more")


def kill_after(job: JobProcess, positions: PositionWatch, seconds: float) -> None:
    """Let the job run for some seconds, and at least until its first commit, while its positions are checked."""
    end = time.monotonic() + seconds
    job.until(lambda: positions.commits() > 0 and time.monotonic() > end, "a moment chosen by chance")
