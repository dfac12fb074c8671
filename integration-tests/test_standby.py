"""A job that starts from a standby, a warm copy that follows a job, resumes exactly as from its checkpoint alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from job_process import JobProcess
from replays import check
from service_bench import ServiceBench

from forebay.platform import Platform
from forebay.producing.base import Options

pytestmark = pytest.mark.timeout(900)

START_MS = 1_735_689_600_000


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[ServiceBench]:
    bench = ServiceBench(platform, "user-sessions", "copied-sessions", tmp_path, ("--max-records-per-commit", "1000"))
    yield bench
    bench.close()


def feed(bench: ServiceBench, seed: int) -> None:
    bench.produce(
        Options(
            count=6_000,
            keys=200,
            seed=seed,
            out_of_order=0.05,
            duplicates=0.03,
            malformed=0.03,
            start_ms=START_MS + seed * 300_000,
            event_rate=20,
            max_delay_ms=20_000,
        )
    )


def test_a_killed_job_begins_with_the_warm_copies(bench: ServiceBench, tmp_path: Path) -> None:
    copies = str(tmp_path / "standby")
    where = ("--tables", "persistent", "--standby-directory", copies)
    feed(bench, 1)
    job = bench.job(*where)
    job.until_commits(2)
    standby = JobProcess(
        [
            *(bench.service.name, "--application", bench.application, "--directory", copies, "--every-ms", "50"),
            *("--bootstrap-servers", bench.settings.bootstrap_servers),
            *("--schema-registry-url", bench.settings.schema_registry_url),
        ],
        tmp_path / "standby.log",
        {"FOREBAY_HOME": str(tmp_path)},
        "standby",
    )
    try:
        for times in (1, 2, 3):
            feed(bench, 1 + times)
            standby.until(lambda least=times: len(standby.messages()) >= least, "the copies are brought up to date")  # type: ignore[misc]
        job.kill()
        feed(bench, 5)
        began = bench.drain(*where)
        assert "the standby has no usable copy" in job.text()
        assert began.text().count("rows from the standby's copy") == 4
        check("user-sessions", bench)
        assert standby.terminate() == 0
    finally:
        standby.kill()
