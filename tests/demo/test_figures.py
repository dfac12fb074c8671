"""The figures are those that a job's own metrics hold: the names agree."""

import time

from prometheus_client import generate_latest

from forebay.demo.figures import Figures, read_figures
from forebay.demo.samples import Samples
from forebay.runtime.batch import TaskReport
from forebay.runtime.metrics import JobMetrics

SERVICE = "user-sessions"


def report(task: int, step: str = "produce") -> TaskReport:
    return TaskReport(
        task=task,
        batch=1,
        step=step,
        records_in={"user_activity": 100},
        outputs=90,
        errors=4,
        late=2,
        duplicates=3,
        stream_time=1_735_689_600_000 + task,
        state_rows=10,
        state_bytes=1000,
        latencies_ms=[250, 400, 1500],
    )


def figures(metrics: JobMetrics, service: str = SERVICE) -> Figures:
    return read_figures(Samples(generate_latest(metrics.registry).decode()), service)


def test_a_batch_of_two_tasks() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe(0.25, [report(0), report(1)])
    metrics.observe_lag({("user_activity", 0): 5, ("user_activity", 1): 7})
    metrics.restarted()
    found = figures(metrics)
    assert (found.records_in, found.outputs, found.errors, found.late, found.duplicates) == (200, 180, 8, 4, 6)
    assert (found.lag, found.restarts, found.state_rows, found.state_bytes) == (12, 1, 20, 2000)
    assert found.stream_time_s == 1_735_689_600.0
    assert found.batches.count == 1
    assert found.batches.mean == 0.25
    assert found.latencies.count == 6
    assert found.latencies.quantile(0.9) is not None


def test_a_replayed_batch_sends_nothing_again() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe(0.2, [report(0, "suppress")])
    assert figures(metrics).outputs == 0
    assert figures(metrics).records_in == 100


def test_before_the_first_batch() -> None:
    found = figures(JobMetrics(SERVICE))
    assert found.lag is None
    assert found.stream_time_s is None
    assert found.batches.count == 0


def test_other_services_do_not_count() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe(0.2, [report(0)])
    assert figures(metrics, "device-alerts").records_in == 0


def test_reading_a_page_is_quick_enough_to_do_every_second() -> None:
    metrics = JobMetrics(SERVICE)
    metrics.observe(0.2, [report(task) for task in range(64)])
    began = time.process_time()
    figures(metrics)
    assert time.process_time() - began < 0.5
