"""Leases change under load without a gap in the results, and a signal ends a long one within seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import INPUT, Bench, Rules
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions
from faults.feeder import Steady
from job_process import JobProcess
from service_bench import PARTITIONS

from forebay.platform import Platform
from forebay.producing.base import Options

LONG = ("--checkpoint-interval-ms", "600000")
SHORT = ("--checkpoint-interval-ms", "1000")
CHANGES = 5
SECONDS_TO_END = 30.0
"""For the end of a lease, Spark's commit and the JVM's end, on a busy machine."""


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "leases", tmp_path, Rules(idle_timeout_ms=60_000, dedupe_retention_ms=2_000))
    yield bench
    bench.close()


@pytest.mark.timeout(400)
def test_results_stay_exact_while_leases_change_and_a_signal_ends_a_long_one(bench: Bench) -> None:
    positions = bench.positions()
    load = Steady(bench, rate=200)
    try:
        job = bench.job(*SHORT)
        job.until(lambda: bench.leases() >= CHANGES and positions.commits() > 0, f"{CHANGES} leases are over")
        assert job.terminate() == 0, job.text()

        commits = positions.commits()
        job = bench.job(*LONG)
        job.until(lambda: positions.commits() >= commits + 20, "it continues under a lease of ten minutes")
        over = bench.leases()
        load.close()
        job.until(bench.has_read_everything, "lag tools see that all is read, within the lease", 10)
        assert bench.leases() == over
        asked = time.monotonic()
        assert job.terminate() == 0, job.text()
        assert time.monotonic() - asked < SECONDS_TO_END
        assert bench.leases() == over + 1, "the lease that was ended early left its snapshot"
    finally:
        load.close()
        positions.close()
    bench.drain()
    bench.check()


@pytest.mark.timeout(400)
def test_groups_stay_in_their_workers_whichever_worker_spark_gives_their_leases(bench: Bench) -> None:
    groups = ("--slots", "3", *SHORT)
    positions = bench.positions()
    load = Steady(bench, rate=200)
    try:
        job = bench.job(*groups)
        job.until(lambda: bench.leases() >= 3 * CHANGES and positions.commits() > 0, "leases are over")
        assert moves(job) == []

        over = bench.leases()
        working = max(job.workers(), key=lambda worker: worker.cpu_times().user)
        working.kill()
        job.until(lambda: bench.leases() >= over + 2 * CHANGES, "leases are over behind the kill")
        moved = len(moves(job))
        assert moved <= 3
        load.close()
        job.until(bench.has_read_everything, "everything is read")
        assert job.terminate() == 0, job.text()
    finally:
        load.close()
        positions.close()
    bench.drain(*groups)
    bench.check()


def moves(job: JobProcess) -> list[str]:
    """Return the workers' messages about groups that another worker has opened."""
    return [
        message for message in job.messages() if "another worker has it" in message or "no lease has come" in message
    ]


@pytest.mark.timeout(400)
def test_added_partitions_are_read_under_the_next_lease(bench: Bench) -> None:
    bench.produce(Options(count=400, keys=40, seed=3))
    job = bench.job(*SHORT)
    job.until(lambda: bench.leases() > 0, "a lease is over")
    admin = AdminClient(bench.settings.admin())
    admin.create_partitions([NewPartitions(INPUT, 2 * PARTITIONS)])[INPUT].result(30)
    over = bench.leases()
    job.until(lambda: bench.leases() > over + 1, "a lease has the new partitions")
    bench.produce(Options(count=400, keys=400, seed=4))
    group = Consumer(bench.settings.consumer(**{"group.id": f"{bench.application}-marker"}))
    new = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS, 2 * PARTITIONS)]
    job.until(lambda: all(place.offset > 0 for place in group.committed(new, 10)), "the new partitions are read", 60)
    group.close()
    assert job.terminate() == 0, job.text()
