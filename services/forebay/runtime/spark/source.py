"""The leases as a PySpark data source. Spark runs a task for each group, and no records pass through Spark.

Spark unpickles the reader in several processes at a start. One of them plans, and the workers hold leases. Modules that
only one of them needs are imported there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from forebay.runtime.process.logs import configure_logging
from forebay.runtime.protocol.lease import SENTINEL, LeaseOffset
from forebay.runtime.spark.holder import hold_lease
from forebay.runtime.spark.sealed import SealedSpec

if TYPE_CHECKING:
    from forebay.runtime.spark.planner import LeasePlanner

SCHEMA = "result string"


class LeasePartition(InputPartition):
    """A lease as Spark sends it to the task of its group."""

    def __init__(self, lease: str) -> None:
        super().__init__(lease)
        self.lease = lease


def plan_partitions(
    start: dict[str, Any], end: dict[str, Any], whole: Collection[str] = frozenset()
) -> list[LeasePartition]:
    """Return the leases between two offsets, one for each group.

    Args:
        whole: topics of global tables, of which every group reads all partitions.
    """
    offset = LeaseOffset.from_json(end)
    # An empty range means "no new data" to Spark. It must have no task, or an old lease would run again.
    if offset is None or start == end:
        return []
    return [LeasePartition(lease.to_json()) for lease in offset.leases(whole)]


class LeaseReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans leases and holds them. Its planner is opened on first use, because connections can't be pickled."""

    def __init__(self, spec: SealedSpec) -> None:
        self._spec = spec
        self._opened: LeasePlanner | None = None
        self._planned: dict[str, Any] | None = None

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

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        # Spark asks for the partitions of exactly this end next, which then need no second check of the topics.
        self._planned = self._planner.plan(start)
        return self._planned

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        offset = LeaseOffset.from_json(end)
        if offset is not None and end not in (start, self._planned):
            # An earlier run planned these leases, perhaps for topics that were recreated since.
            self._planner.check_topics(offset)
        return plan_partitions(start, end, self._planner.whole)

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        assert isinstance(partition, LeasePartition)
        # One row, at the end of the lease. Until it is returned, the task runs for Spark, and this is what makes the
        # lease last.
        yield (hold_lease(self._spec, partition.lease),)

    def __getstate__(self) -> dict[str, Any]:
        # Connections can't be pickled. Each process that plans opens its own planner.
        return {"_spec": self._spec, "_opened": None, "_planned": None}


def data_source(spec: SealedSpec) -> type[DataSource]:
    """Return the data source of a job, named `forebay`. It contains the job's spec, so no option contains a secret."""

    class LeaseSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "forebay"

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:
            return LeaseReader(spec)

    return LeaseSource
