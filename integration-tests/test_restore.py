"""Lost checkpoints are rebuilt from the changelogs. Results equal those of jobs that never failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replays import check
from service_bench import ServiceBench

from forebay.platform import Platform
from forebay.producing.base import Options

pytestmark = pytest.mark.timeout(900)

START_MS = 1_735_689_600_000
SMALL = ("--max-records-per-commit", "2000")


def events(seed: int, start_ms: int) -> Options:
    return Options(
        count=8_000,
        keys=200,
        seed=seed,
        out_of_order=0.05,
        duplicates=0.03,
        malformed=0.02,
        start_ms=start_ms,
        event_rate=20,
        max_delay_ms=20_000,
    )


@pytest.fixture
def bench(request: pytest.FixtureRequest, platform: Platform, tmp_path: Path) -> Iterator[ServiceBench]:
    bench = ServiceBench(platform, request.param, f"lost-{request.param}", tmp_path, SMALL)
    yield bench
    bench.close()


@pytest.mark.parametrize("bench", ["user-sessions"], indirect=True)
def test_a_killed_job_s_state_is_restored_and_nothing_is_lost_or_repeated(bench: ServiceBench) -> None:
    bench.produce(events(31, START_MS))
    job = bench.job()
    job.until_commits(2)
    job.kill()
    bench.lose_checkpoint()
    bench.produce(events(32, START_MS + 400_000))

    refused = bench.job("--trigger", "available-now")
    assert refused.finish() == 1
    assert "its last commit belongs to checkpoint" in refused.text()
    assert "`forebay run --restore` rebuilds it from the changelogs" in refused.text()
    bench.lose_checkpoint()

    restoring = bench.job(command="restore")
    assert restoring.finish() == 0, restoring.text()
    assert "`forebay run user-sessions` continues" in restoring.text()
    again = bench.job(command="restore")
    assert again.finish() == 1
    assert "exists: `forebay run` continues from it" in again.text()
    bench.drain()
    check("user-sessions", bench)


@pytest.mark.parametrize("bench", ["order-stores"], indirect=True)
def test_a_job_of_sub_topologies_restores_itself_if_its_checkpoint_is_missing(bench: ServiceBench) -> None:
    bench.produce(events(33, START_MS))
    bench.drain("--restore")
    bench.lose_checkpoint()
    bench.produce(events(34, START_MS + 400_000))
    job = bench.drain("--restore")
    assert job.total("restored_rows") > 500
    bench.produce(events(35, START_MS + 800_000))
    retained = bench.drain("--restore")
    assert retained.total("restored_rows") == 0
    check("order-stores", bench)


@pytest.mark.parametrize("bench", ["user-sessions"], indirect=True)
def test_a_state_without_rows_is_restored(bench: ServiceBench) -> None:
    job = bench.job()
    job.until_commits()
    job.kill()
    bench.lose_checkpoint()
    restoring = bench.job(command="restore")
    assert restoring.finish() == 0, restoring.text()
    assert "restored 0 rows" in restoring.text()


@pytest.mark.parametrize("bench", ["user-sessions"], indirect=True)
def test_a_job_that_never_ran_has_nothing_to_restore(bench: ServiceBench) -> None:
    job = bench.job(command="restore")
    assert job.finish() == 1
    assert "has no commits" in job.text()
