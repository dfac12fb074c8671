"""If Spark has fewer slots than the job has task groups, the job ends, or reports what it is waiting for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from service_bench import ServiceBench

from forebay.platform import Platform
from forebay.runtime.driver.session import SparkOptions, build_session
from forebay.runtime.driver.slots import SlotWatch


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[ServiceBench]:
    bench = ServiceBench(platform, "order-stores", "few-slots", tmp_path)
    yield bench
    bench.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("trigger", ["available-now", "continuous"])
def test_a_job_ends_if_spark_can_never_run_all_its_groups(bench: ServiceBench, trigger: str) -> None:
    job = bench.job("--slots", "2", "--conf", "spark.master=local[1]", "--trigger", trigger)
    assert job.finish() == 1, job.text()
    assert "Spark has 1 slot (spark.master=local[1]), but the 2 task groups of the job need 2" in job.text()
    assert "set spark.master=local[2]" in job.text()


WAITS = (
    "1 of 1 task groups wait for a slot. Spark has 1 slot (spark.master=local[1,4]), of which other Spark jobs occupy"
)


@pytest.mark.timeout(600)
def test_tasks_that_wait_for_a_slot_that_another_job_occupies_are_reported(wait_until: Callable[..., None]) -> None:
    session = build_session("few-slots", "", SparkOptions(slots=1))
    context = session.sparkContext
    watch, tracker = SlotWatch.of(context), context.statusTracker()

    def occupy(group: str) -> None:
        context.setJobGroup(group, "")
        with suppress(PySparkException, Py4JError):
            context.parallelize([300], 1).map(time.sleep).collect()

    threads = [threading.Thread(target=occupy, args=(group,), daemon=True) for group in ("other", "own")]
    try:
        for count, thread in enumerate(threads, 1):
            thread.start()
            wait_until(lambda count=count: len(tracker.getActiveJobsIds()) == count, "Spark has the job", 200)
        # Spark may count an executor's running tasks only at its next heartbeat, which can be after the first report.
        wait_until(lambda: watch.trouble("own").startswith(f"{WAITS} 1."), WAITS, 200)
        assert SlotWatch.of(context).trouble("other") == ""
        context.cancelAllJobs()
        for thread in threads:
            thread.join(60)
    finally:
        session.stop()
