"""A job inside Spark: leases follow each other, lag is committed, idle time passes, and it ends at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench import INPUT, Bench, Rules
from confluent_kafka import Consumer, TopicPartition
from job_process import PYTHON_PATH
from service_bench import PARTITIONS

from forebay.platform import Platform
from forebay.producing.base import Options
from forebay.runtime.driver.app import JobApplication, JobOptions
from forebay.runtime.driver.plan import Plan
from forebay.runtime.task.pacing import Limits

LEASE_MS = 2_000
EVENTS = Options(count=400, keys=20, seed=2)


class Running:
    """A job on a thread of this process, so that its query can be inspected."""

    def __init__(self, bench: Bench) -> None:
        options = JobOptions(
            service="user-sessions",
            application=bench.application,
            kafka=bench.settings,
            plan=Plan(str(bench.checkpoint)),
            logic={"idle_timeout_ms": str(bench.rules.idle_timeout_ms)},
            engine={"limits": Limits(checkpoint_interval_ms=LEASE_MS)},
        )
        self.application = JobApplication(options)
        self.failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def progress(self) -> dict[str, Any] | None:
        """Return the newest progress of the query, or None before the first."""
        runner = self.application._runner
        query = runner.query if runner is not None else None
        newest = query.lastProgress if query is not None else None
        return None if newest is None else json.loads(newest.json)

    def stop(self) -> None:
        self.application.stop()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the job does not end"
        assert self.failure is None

    def _run(self) -> None:
        try:
            self.application.run()
        except BaseException as error:
            self.failure = error


@pytest.fixture
def bench(platform: Platform, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("PYTHONPATH", PYTHON_PATH)
    bench = Bench(platform, "job", tmp_path, Rules(idle_timeout_ms=2_000))
    yield bench
    bench.close()


@pytest.mark.timeout(240)
def test_leases_progress_lag_and_the_end(bench: Bench, wait_until: Callable[..., None]) -> None:
    bench.produce(EVENTS)
    job = Running(bench)
    try:
        wait_until(lambda: sum(map(len, bench.outputs().values())) >= 400, "every event has its output", 120)
        wait_until(lambda: ended_idle(bench) == 20, "the idle clock ends every user's session", 30)
        group = Consumer(bench.settings.consumer(**{"group.id": "job-marker"}))
        places = [TopicPartition(INPUT, partition) for partition in range(PARTITIONS)]
        wait_until(
            lambda: sum(p.offset for p in group.committed(places, 10)) == 400, "the lag group has the offsets", 5
        )
        group.close()
        first = batch_of(job)
        wait_until(lambda: batch_of(job) >= first + 3, "one lease follows the other although nothing comes", 60)
        progress = job.progress()
        assert progress is not None
        source = progress["sources"][0]
        begin, end = as_json(source["startOffset"]), as_json(source["endOffset"])
        assert end["number"] == begin["number"] + 1
        assert end["checkpoint"] == begin["checkpoint"]
        assert sum(map(len, bench.outputs().values())) == 420, "each output once"
    finally:
        job.stop()


def batch_of(job: Running) -> int:
    progress = job.progress()
    return -1 if progress is None else int(progress["batchId"])


def ended_idle(bench: Bench) -> int:
    return len({key for part in bench.outputs().values() for key, value, _ in part if value["current_session"] is None})


def as_json(offset: Any) -> Any:
    return json.loads(offset) if isinstance(offset, str) else offset
