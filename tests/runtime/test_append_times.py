"""Latency is measured from a record's append time, and the delay of its event time is a separate metric."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from forebay.runtime.observability.latencies import DELAY_LAST_MINUTE, LAST_MINUTE, EventTimeDelays, Latencies
from forebay.runtime.task.end_log import EndLog
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.task.statistics import LATENCY_MS, TaskFigures
from tests.runtime.group_bench import GroupBench
from tests.runtime.records import give
from tests.runtime.simulator.broker import Record

HOUR_MS = 3_600_000
APPEND_TIME = 2


class Stamped(Record):
    def timestamp(self) -> tuple[int, int]:
        return APPEND_TIME, self.timestamp_


def test_a_record_was_appended_after_the_last_poll_whose_end_did_not_include_it() -> None:
    log = EndLog()
    log.observe(5, 10.0, is_read=True)
    log.observe(5, 20.0, is_read=True)
    log.observe(8, 21.0, is_read=False)
    assert [log.appended_after(offset) for offset in (5, 7, 8, 9)] == [20.0, 20.0, 21.0, 21.0]


def test_an_unchanged_end_is_ignored_while_the_client_may_not_be_fetching() -> None:
    log = EndLog()
    log.observe(5, 10.0, is_read=False)
    log.observe(5, 20.0, is_read=False)
    assert log.appended_after(5) == 10.0


def test_records_that_may_precede_the_reader_are_not_counted() -> None:
    log = EndLog()
    assert log.appended_after(0) is None
    log.observe(5, 10.0, is_read=False)
    assert log.appended_after(4) is None


def test_the_age_of_records_in_a_long_backlog_is_never_underestimated() -> None:
    log = EndLog()
    for number in range(10_000):
        log.observe(number, float(number), is_read=False)
    ages = [log.appended_after(offset) for offset in range(10_000)]
    assert all(time is not None and offset - 100 <= time <= offset for offset, time in enumerate(ages))


@pytest.mark.parametrize("partitions", [1, 2])
def test_event_time_does_not_change_the_append_time(partitions: int) -> None:
    parts = [InputPartition("orders", number, 1, 0) for number in range(partitions)]
    for part in parts:
        part.end_log.observe(0, 100.0, is_read=True)
        part.reach_end(0)
    give(parts[0], HOUR_MS, 1, 2 * HOUR_MS)
    parts[0].reach_end(3)
    item = TaskInput(parts)
    assert item.append_times(item.ready(9), 101.0, 3 * HOUR_MS) == [100.0] * 3


def test_append_times_are_the_timestamps_of_a_topic_with_log_append_time() -> None:
    part = InputPartition("orders", 0, 1, 0)
    part.take(Stamped(("orders", 0), 0, b"k", b"v", 5_000, None, None, 0), 0)
    item = TaskInput([part])
    assert item.append_times(item.ready(9), 100.0, 5_250) == [99.75]


def test_a_group_measures_from_the_append_to_its_commit() -> None:
    bench = GroupBench()
    bench.run()
    bench.feed(("a", 1, 1))
    bench.run()
    (task,) = bench.group.tasks
    assert sum(task.figures.latencies[: LATENCY_MS.index(60_000)]) == 1
    assert task.figures.delays[-1] >= 1, "the event is as old as its timestamp says"


def latency_figures(part: int, ms: int, delay_ms: int) -> TaskFigures:
    counts = [[int(bound == which) for bound in LATENCY_MS] + [0] for which in (ms, delay_ms)]
    return TaskFigures(part, 0, latencies=counts[0], latency_ms=ms, delays=counts[1], delay_ms=delay_ms)


def test_a_job_s_latency_is_the_sum_over_its_sub_topologies_but_its_delay_is_not() -> None:
    registry, latencies, delays = CollectorRegistry(), Latencies("sums", lambda: 0.0), EventTimeDelays("sums")
    for collector in (latencies, delays):
        registry.register(collector)
        collector.add(latency_figures(0, 100, 1_000))
        collector.add(latency_figures(1, 50, 1_000))
    labels = {"service": "sums", "quantile": "0.5"}
    assert registry.get_sample_value(LAST_MINUTE, labels) == pytest.approx(0.0875 + 0.04)
    assert registry.get_sample_value(DELAY_LAST_MINUTE, labels) == pytest.approx(0.875)
