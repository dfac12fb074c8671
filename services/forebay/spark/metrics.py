"""Metrics of the format `forebay` in a session: sums over all tasks, and the lag of running queries."""

from __future__ import annotations

import json
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from pyspark.accumulators import Accumulator, AccumulatorParam

from forebay.spark.ranges import Positions, from_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Amounts = dict[tuple[str, str], float]
"""Numbers by metric name and topic."""

HELP: Mapping[str, str] = {
    "records_read": "Records that tasks read",
    "bytes_read": "Bytes of the keys and values that tasks read",
    "read_wait_seconds": "Time that tasks waited for the broker's records",
    "rows_written": "Rows that tasks committed",
    "bytes_written": "Bytes of the keys and values that tasks committed",
    "rows_verified": "Rows that an earlier attempt had committed, which tasks compared instead of writing them",
    "commits": "Transactions that tasks committed",
    "commit_seconds": "Time from a transaction's last row to its commit",
    "retries": "Parts of micro-batches that took Spark more than one attempt",
}
LAG = "lag_records"


class Measures(Protocol):
    """The sums to which tasks add numbers."""

    def add(self, term: Amounts) -> None:
        """Add numbers to the sums."""


class NoMeasures:
    """Sums that discard all numbers, for a source that was not registered with `register`."""

    def add(self, term: Amounts) -> None:
        """Do nothing."""


class _Sums(AccumulatorParam[Amounts]):
    def zero(self, value: Amounts) -> Amounts:
        return {}

    def addInPlace(self, value1: Amounts, value2: Amounts) -> Amounts:
        for place, amount in value2.items():
            value1[place] = value1.get(place, 0) + amount
        return value1


_SUMS: weakref.WeakKeyDictionary[Any, Accumulator[Amounts]] = weakref.WeakKeyDictionary()


def session_sums(spark: SparkSession) -> Accumulator[Amounts]:
    """Return the accumulator of the session's Spark application, to which tasks add their numbers."""
    context = spark.sparkContext
    if context not in _SUMS:
        _SUMS[context] = context.accumulator({}, _Sums())
    return _SUMS[context]


class SparkMetrics(Collector):
    """Metrics of the format `forebay` in a session. It is also a collector for Prometheus' client library.

    Args:
        spark: The session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark, self._sums = spark, session_sums(spark)

    def values(self) -> dict[str, dict[str, float]]:
        """Return the numbers by metric and topic. The numbers of a running task are added when it ends."""
        result: dict[str, dict[str, float]] = {name: {} for name in (*HELP, LAG)}
        for (name, topic), amount in list(self._sums.value.items()):
            result[name][topic] = amount
        for query in self._spark.streams.active:
            progress = query.lastProgress
            for source in progress.sources if progress is not None else ():
                for topic, lag in lag_of(source.endOffset, source.latestOffset).items():
                    result[LAG][topic] = result[LAG].get(topic, 0) + lag
        return result

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers as metrics of Prometheus' client library."""
        values = self.values()
        for name, text in HELP.items():
            counter = CounterMetricFamily(f"forebay_spark_{name}", text, labels=["topic"])
            for topic, amount in values[name].items():
                counter.add_metric([topic], amount)
            yield counter
        gauge = GaugeMetricFamily(
            f"forebay_spark_{LAG}", "Records after the last micro-batch of running queries", labels=["topic"]
        )
        for topic, amount in values[LAG].items():
            gauge.add_metric([topic], amount)
        yield gauge


def lag_of(end: str | None, latest: str | None) -> dict[str, int]:
    """Return the number of offsets between the end of a micro-batch and the end of each topic.

    Args:
        end, latest: Offsets in JSON, from the query's progress. For the offsets of other sources the result is empty.
    """
    ends, newest = _positions(end), _positions(latest)
    lags: dict[str, int] = {}
    for (topic, partition), offset in newest.items():
        lags[topic] = lags.get(topic, 0) + max(0, offset - ends.get((topic, partition), offset))
    return lags


def _positions(text: str | None) -> Positions:
    try:
        return from_json(json.loads(text or "{}"))
    except (ValueError, AttributeError, TypeError):
        return {}
