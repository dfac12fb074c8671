"""All five services run on one broker and are killed or ended while they work. Results equal independent replays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from job_process import JobProcess
from replays import REPLAYS, check
from service_bench import ServiceBench
from topic_reading import PositionWatch

from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.producing.send import Sent

ARGUMENTS = {"windowed-metrics": ("--set", "emit_results=both")}
SMALL_COMMITS = ("--max-records-per-commit", "10")
START_MS = 1_735_689_600_000
STEP_MS = 1_200_000


def events(count: int, seed: int, start_ms: int) -> Options:
    return Options(
        count=count,
        keys=120,
        seed=seed,
        out_of_order=0.1,
        duplicates=0.05,
        malformed=0.02,
        start_ms=start_ms,
        event_rate=count / 1_000,
        max_delay_ms=30_000,
    )


@pytest.fixture
def benches(platform: Platform, tmp_path: Path) -> Iterator[dict[str, ServiceBench]]:
    benches = {name: ServiceBench(platform, name, f"all-{name}", tmp_path, ARGUMENTS.get(name, ())) for name in REPLAYS}
    yield benches
    for bench in benches.values():
        bench.close()


@contextmanager
def some_commits(bench: ServiceBench, watch: PositionWatch, sent: Sent) -> Iterator[JobProcess]:
    """Yield the job after some commits. The block must end it before it has read all input."""
    enough, used = watch.commits() + 8, watch.used_offsets([bench.input])
    job = bench.job(*SMALL_COMMITS)
    job.until(lambda: watch.commits() >= enough, "some commits are through")
    yield job
    assert watch.used_offsets([bench.input]) < used + sent.records, "it ended too late to interrupt anything"


@pytest.mark.timeout(900)
def test_five_concurrent_interrupted_jobs_are_exact(benches: dict[str, ServiceBench]) -> None:
    for number, bench in enumerate(benches.values()):
        with closing(bench.positions()) as watch:
            sent = bench.produce(events(12_000, 21, START_MS))
            with some_commits(bench, watch, sent) as job:
                if number % 2 == 0:
                    job.kill()
                else:
                    assert job.terminate() == 0, job.text()
        bench.produce(events(3_000, 22, START_MS + STEP_MS))

    # An idle job closes windows by the clock, which the replay does not know. These jobs end instead of idling.
    jobs = {name: bench.job("--trigger", "available-now") for name, bench in benches.items()}
    for name, bench in benches.items():
        assert jobs[name].finish() == 0, jobs[name].text()
        assert bench.has_read_everything()
        check(name, bench)
