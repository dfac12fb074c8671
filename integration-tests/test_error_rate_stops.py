"""If too many records fail, the job reports the reason and ends before it sends their error reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import INPUT, Bench

from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.runtime.protocol.errorcount import FEWEST

GOOD = Options(count=100, keys=10, seed=61)
BROKEN = 150


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "error-rate", tmp_path)
    yield bench
    bench.close()


@pytest.mark.timeout(700)
def test_the_job_stops_before_the_commit_and_resumes_with_another_limit(bench: Bench) -> None:
    bench.produce(GOOD)
    bench.send(*((b"k", b"no record", {"partition": 0}) for _ in range(BROKEN)))
    job = bench.job("--trigger", "available-now")
    assert job.finish(300) == 1
    assert "of the latest" in job.text()
    assert f"{INPUT}-0 offset " in job.text()
    assert len(bench.errors()) < FEWEST

    job = bench.job("--trigger", "available-now", "--max-error-rate", "1")
    assert job.finish(300) == 0, job.text()
    assert len(bench.errors()) == BROKEN
    bench.check()
