"""Records of a sub-topology that a new release no longer has are counted, logged and skipped."""

from __future__ import annotations

import logging

import pytest

from forebay.builder import Topology
from forebay.runtime.observability.metrics import JobMetrics
from forebay.runtime.protocol.times import TaskTime, data_headers, time_headers
from tests.dsl.driving import Driven


def topology(t: Topology) -> None:
    t.stream("in", str).select_key(lambda _, value: value, str).group_by_key().count(store="n").to_stream().to("out")


def test_dropped_records_are_counted_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    driver = Driven(topology).driver
    (name,) = [topic for topic in driver._loop.topics.partitions if topic.endswith("-repartition")]
    partition = driver._loop.topics.partition(name, 0)
    for sender in ("5-0", "5-1", "5-0"):
        partition.append(b"k", b"v", 5, data_headers(sender))
    partition.append(None, None, 5, time_headers("5-0", TaskTime(9)))
    with caplog.at_level(logging.WARNING):
        assert driver.pipe("a", "b", "in", 7) != []
        partition.append(b"k", b"v", 5, data_headers("5-0"))
        driver.pipe("a", "b", "in", 8)
    said = [record.getMessage() for record in caplog.records if "are dropped" in record.getMessage()]
    assert len(said) == 1
    assert f"{name}-0" in said[0]
    assert "(5-0, 5-1)" in said[0]
    (reader,) = [
        task for sub_topology in driver.sub_topologies for task in sub_topology.state_tasks if task.input.repartitions
    ]
    assert reader.figures.dropped == {name: 4}
    driver.restart()
    (reader,) = [
        task for sub_topology in driver.sub_topologies for task in sub_topology.state_tasks if task.input.repartitions
    ]
    assert reader.figures.dropped == {}, "the position is behind them"
    assert driver.errors == []


def test_dropped_records_are_a_metric_of_the_job() -> None:
    driver = Driven(topology).driver
    (reader,) = [
        task for sub_topology in driver.sub_topologies for task in sub_topology.state_tasks if task.input.repartitions
    ]
    reader.figures.dropped = {"app-n-repartition": 4}
    reader.figures.at = 1
    metrics = JobMetrics("app")
    metrics.observe([reader.figures])
    metrics.count_dropped("app-old-repartition", 2)

    def value(topic: str) -> float | None:
        labels = {"service": "app", "topic": topic}
        return metrics.registry.get_sample_value("forebay_records_dropped_total", labels)

    assert (value("app-n-repartition"), value("app-old-repartition")) == (4.0, 2.0)
