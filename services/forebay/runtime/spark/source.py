"""The source as a PySpark Python data source: it hands out leases, records never pass through Spark.

Spark unpickles it in four processes of a start, of which one plans: what planning needs is imported there alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkNotImplementedError
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, SimpleDataSourceStreamReader
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from forebay.runtime.process.logs import configure_logging
from forebay.runtime.protocol.lease import SENTINEL, LeaseOffset
from forebay.runtime.spark.buckets import bucket_ids
from forebay.runtime.spark.sealed import SealedSpec

if TYPE_CHECKING:
    from forebay.runtime.spark.planner import LeasePlanner

SCHEMA = "bucket int, lease string"

Row = tuple[int, str]


def rows(start: dict[str, Any], end: dict[str, Any], whole: Collection[str] = frozenset()) -> list[Row]:
    """Return one row per group: its bucket and its lease.

    Args:
        whole: global tables' topics, of which every group reads all partitions.
    """
    finish = LeaseOffset.from_json(end)
    if finish is None or start == end:
        return []
    buckets = bucket_ids(finish.groups, finish.groups)
    return [(buckets[lease.group], lease.to_json()) for lease in finish.leases(whole)]


class LeaseReader(SimpleDataSourceStreamReader, SupportsTriggerAvailableNow):
    """Hands out leases. It opens its planner where it is first needed: readers are pickled, connections can't be."""

    def __init__(self, spec: SealedSpec) -> None:
        self._spec = spec
        self._opened: LeasePlanner | None = None

    @property
    def _planner(self) -> LeasePlanner:
        if self._opened is None:
            from forebay.runtime.process.watchdog import die_when_silent  # noqa: PLC0415 (nor die of it)
            from forebay.runtime.spark.planner import LeasePlanner  # noqa: PLC0415 (most processes plan nothing)

            die_when_silent()
            spec = self._spec.open()
            configure_logging(spec.log_format)
            self._opened = LeasePlanner(spec)
        return self._opened

    def initialOffset(self) -> dict[str, Any]:
        return dict(SENTINEL)

    def prepareForTriggerAvailableNow(self) -> None:
        self._planner.freeze()

    def read(self, start: dict[str, Any]) -> tuple[Iterator[Row], dict[str, Any]]:
        end = self._planner.plan(start)
        return iter(rows(start, end, self._planner.whole)), end

    def readBetweenOffsets(self, start: dict[str, Any], end: dict[str, Any]) -> Iterator[Row]:
        offset = LeaseOffset.from_json(end)
        if offset is None or start == end:
            return iter(())
        self._planner.check_topics(offset)
        return iter(rows(start, end, self._planner.whole))

    def __getstate__(self) -> dict[str, Any]:
        return {"_spec": self._spec, "_opened": None}


def data_source(spec: SealedSpec) -> type[DataSource]:
    """Return the data source of a job, named `forebay`; it carries the job's spec, so no option holds a secret."""

    class LeaseSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "forebay"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            raise PySparkNotImplementedError(
                errorClass="NOT_IMPLEMENTED", messageParameters={"feature": "streamReader"}
            )

        def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
            return LeaseReader(spec)

    return LeaseSource
