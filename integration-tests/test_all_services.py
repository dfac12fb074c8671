"""All five services on one broker, each killed and ended in mid-work: what they wrote equals independent replays."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from replays import REPLAYS, check
from service_bench import ServiceBench

from forebay.platform import Platform
from producers.base import Options

ARGUMENTS = {"windowed-metrics": ("--set", "emit_results=both")}
SMALL_COMMITS = ("--max-records-per-commit", "40")
START_MS = 1_735_689_600_000
STEP_MS = 1_200_000


def events(seed: int, start_ms: int) -> Options:
    return Options(
        count=5_000,
        keys=120,
        seed=seed,
        out_of_order=0.1,
        duplicates=0.05,
        malformed=0.02,
        start_ms=start_ms,
        event_rate=5,
        max_delay_ms=30_000,
    )


@pytest.fixture
def benches(platform: Platform, tmp_path: Path) -> Iterator[dict[str, ServiceBench]]:
    benches = {name: ServiceBench(platform, name, f"all-{name}", tmp_path, ARGUMENTS.get(name, ())) for name in REPLAYS}
    yield benches
    for bench in benches.values():
        bench.close()


@pytest.mark.timeout(900)
def test_five_jobs_side_by_side_are_exact_although_each_is_killed(benches: dict[str, ServiceBench]) -> None:
    for bench in benches.values():
        bench.produce(events(21, START_MS))
        job = bench.job(*SMALL_COMMITS)
        positions = bench.positions()
        job.until(lambda watch=positions: watch.commits() >= 8, "some commits are through")  # type: ignore[misc]
        job.kill()
        positions.close()
        assert not bench.has_read_everything(), "the kill came too late to interrupt anything"

    for bench in benches.values():
        bench.produce(events(22, START_MS + STEP_MS))
        job = bench.job(*SMALL_COMMITS)
        job.until_commits()
        assert job.terminate() == 0, job.text()
        assert not bench.has_read_everything(), "the end came too late to interrupt anything"

    # A job that waits for more closes by the idle clock, which a replay of the records does not know; these don't wait.
    jobs = {name: bench.job("--trigger", "available-now") for name, bench in benches.items()}
    for name, bench in benches.items():
        assert jobs[name].finish() == 0, jobs[name].text()
        assert bench.has_read_everything()
        check(name, bench)
