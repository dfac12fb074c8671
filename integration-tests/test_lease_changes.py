"""The driver ends leases under load without interrupting the results, and a signal ends a job within seconds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bench import INPUT, Bench, Rules
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from faults.feeder import Steady
from job_process import PYTHON_PATH
from job_thread import JobThread
from service_bench import PARTITIONS
from topic_reading import PositionWatch

from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spec import JobSpec

LONG = ("--checkpoint-interval-ms", "600000")
SHORT = ("--checkpoint-interval-ms", "1000")
CHANGES = 5


@pytest.fixture
def bench(platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    bench = Bench(platform, "leases", tmp_path, Rules(idle_timeout_ms=60_000, dedupe_retention_ms=2_000))
    yield bench
    bench.close()


@pytest.fixture
def load(bench: Bench) -> Iterator[Steady]:
    load = Steady(bench, rate=200)
    yield load
    load.close()


@pytest.fixture
def positions(bench: Bench) -> Iterator[PositionWatch]:
    positions = bench.positions()
    yield positions
    positions.close()


@pytest.mark.timeout(400)
def test_results_stay_exact_while_the_driver_ends_leases_one_after_the_other(
    bench: Bench, load: Steady, positions: PositionWatch, wait_until: Callable[..., None]
) -> None:
    job = JobThread(bench, interval_ms=1_000, slots=3)
    try:
        for _ in range(CHANGES):
            commits, leases = positions.commits(), bench.leases()
            wait_until(lambda commits=commits: positions.commits() >= commits + 20, "it commits under its leases", 120)
            job.rebalance()
            wait_until(lambda leases=leases: bench.leases() > leases, "the leases are over", 60)
    finally:
        load.close()
        job.stop()
    bench.drain("--slots", "3")
    bench.check()


@pytest.mark.timeout(400)
def test_sigterm_ends_a_long_lease_with_a_snapshot(bench: Bench, load: Steady, positions: PositionWatch) -> None:
    job = bench.job(*LONG)
    job.until(lambda: positions.commits() >= 20, "it commits under a lease of ten minutes")
    assert bench.leases() == 0
    load.close()
    job.until(bench.has_read_everything, "lag tools see that all is read, within the lease")
    assert job.terminate() == 0, job.text()
    assert bench.leases() == 1
    assert bench.snapshots()
    bench.drain()
    bench.check()


@pytest.mark.timeout(400)
def test_a_run_with_end_offsets_fails_if_another_driver_ends_its_leases(bench: Bench, positions: PositionWatch) -> None:
    bench.produce(Options(count=20_000, keys=40, seed=5))
    job = bench.job("--trigger", "available-now", "--max-records-per-commit", "20")
    job.until(lambda: positions.commits() >= 20, "it commits")
    spec = JobSpec(bench.service.name, bench.application, PARTITIONS, 1, bench.settings, {}, {}, "v1", run="other")
    other = DriverControl(spec)
    other.end_leases(is_followed=True)
    assert job.finish() == 1, job.text()
    assert "has ended the leases of leases before this run had read everything" in job.text()
    assert f"(process {os.getpid()}, run other)" in job.text()
    assert not bench.has_read_everything()
    other.close()
    bench.drain()
    bench.check()


@pytest.mark.timeout(400)
def test_partitions_that_are_added_during_a_lease_are_read(bench: Bench, positions: PositionWatch) -> None:
    bench.produce(Options(count=400, keys=40, seed=3))
    job = bench.job(*SHORT)
    job.until(lambda: positions.commits() > 0, "it commits")
    admin = AdminClient(bench.settings.admin())
    admin.create_partitions([NewPartitions(INPUT, 2 * PARTITIONS)])[INPUT].result(30)
    job.until(lambda: bench.leases() > 0, "the driver ends the lease that knows the former partitions only")
    bench.produce(Options(count=400, keys=400, seed=4))
    group = Consumer(bench.settings.consumer(**{"group.id": f"{bench.application}-marker"}))
    new = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS, 2 * PARTITIONS)]
    job.until(lambda: all(place.offset > 0 for place in group.committed(new, 10)), "the new partitions are read", 60)
    group.close()
    assert job.terminate() == 0, job.text()
