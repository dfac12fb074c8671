"""Plan what tasks read: a batch, or the micro-batches of a stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSourceReader,
    DataSourceStreamReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from forebay.spark.broker import Broker
from forebay.spark.errors import OffsetsDeleted
from forebay.spark.ranges import (
    Positions,
    as_json,
    check_ends,
    check_loss,
    check_order,
    from_json,
    limit,
    prune,
    ranges_between,
    rewind,
)
from forebay.spark.records import RecordReader
from forebay.spark.source_options import Bound, SourceOptions, Timestamp

if TYPE_CHECKING:
    import pyarrow as pa


class TopicReader(DataSourceReader):
    """Reads topics between two places, one task per partition.

    Args:
        options: Those of the read.
        records: Reads a range in a task.
    """

    def __init__(self, options: SourceOptions, records: RecordReader) -> None:
        self._options, self._records = options, records
        self._filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Remember filters by topic, partition, offset and timestamp. Spark applies all of them again."""
        self._filters = list(filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        """Return what each task reads."""
        broker = Broker(self._options)
        start = broker.positions(self._options.start or Bound.EARLIEST)
        end, begins = broker.positions(self._options.end or Bound.LATEST), broker.begins()
        fails = self._options.fails_on_loss
        check_order(start, end, begins, fails=fails)
        for condition in self._filters:
            match condition:
                case GreaterThan() | GreaterThanOrEqual() | EqualTo() if condition.attribute == ("timestamp",):
                    # Every record before this offset has an earlier timestamp.
                    floor = broker.positions(Timestamp(int(condition.value.timestamp() * 1000)))
                    start = {place: max(offset, floor[place]) for place, offset in start.items()}
        ranges = check_loss(ranges_between(start, end), begins, fails=fails)
        return [InputPartition(item) for item in prune(ranges, self._filters)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the records of one range. Without any range, Spark still calls this once, with the value None."""
        return iter(()) if partition.value is None else self._records.read(partition.value)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads topics in micro-batches. Partitions and topics that appear later are read from their beginning.

    Args:
        options: Those of the read.
        records: Reads a range in a task.
    """

    def __init__(self, options: SourceOptions, records: RecordReader) -> None:
        self._options, self._records = options, records
        self._broker = Broker(options)
        self._until: Positions | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return where a new query starts."""
        return as_json(self._broker.positions(self._options.start or Bound.LATEST))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch, from the option maxOffsetsPerTrigger."""
        return ReadMaxRows(self._options.max_offsets) if self._options.max_offsets else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Remember the ends that the query reads up to."""
        self._until = self._broker.ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return where the next micro-batch ends."""
        begun, current = from_json(start), self._broker.ends()
        self._check_deleted(begun, current)
        ends = self._ends(current)
        begun |= self._new_partitions(begun, ends)
        begun = self._rewind(begun, current)
        if isinstance(limit, ReadMaxRows) and not self._options.fails_on_loss:
            # Offsets that retention has deleted must not use up the limit.
            begins = self._broker.begins()
            begun = {place: max(offset, begins.get(place, offset)) for place, offset in begun.items()}
        # A query that starts at the end may start behind the end that it reads up to, which was looked up before.
        ends = {place: max(end, begun[place]) for place, end in ends.items()}
        return as_json(_ends_within(begun, ends, limit) | {place: begun[place] for place in begun.keys() - ends.keys()})

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the topics' ends, for the query's progress."""
        return as_json(self._broker.ends())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return what each task of a micro-batch reads."""
        begun, ends = from_json(start), from_json(end)
        begun |= self._new_partitions(begun, ends)
        begun = self._rewind(begun, ends)
        # Spark repeats the last micro-batch of a checkpoint, whose offsets may be gone.
        last = self._rewind(ends, self._broker.ends())
        ranges = ranges_between(begun, {place: min(offset, last[place]) for place, offset in ends.items()})
        if not ranges:
            return []
        left = check_loss(ranges, self._broker.begins(), fails=self._options.fails_on_loss)
        return [InputPartition(item) for item in left]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the records of one range. Without any range, Spark still calls this once, with the value None."""
        return iter(()) if partition.value is None else self._records.read(partition.value)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the broker's client, which can't be pickled. Tasks only read."""
        return {"_options": self._options, "_records": self._records, "_broker": None, "_until": None}

    def _ends(self, ends: Positions) -> Positions:
        if self._until is None:
            return ends
        return {place: min(ends[place], offset) for place, offset in self._until.items() if place in ends}

    def _rewind(self, begun: Positions, ends: Positions) -> Positions:
        if all(ends.get(place, offset) >= offset for place, offset in begun.items()):
            return begun
        if self._options.fails_on_loss:
            check_ends(begun, ends)
        return rewind(begun, ends, self._broker.begins())

    def _new_partitions(self, begun: Positions, ends: Positions) -> Positions:
        new = ends.keys() - begun.keys()
        # Records of a new partition that retention deletes before they are read are lost, as those of any other.
        begins = self._broker.begins() if new and not self._options.fails_on_loss else {}
        return {place: begins.get(place, 0) for place in new}

    def _check_deleted(self, begun: Positions, ends: Positions) -> None:
        """Refuse to continue without partitions that a pattern matched. Without a pattern, their topic is missed."""
        pattern = self._options.pattern
        missing = [place for place in begun.keys() - ends.keys() if re.fullmatch(pattern, place[0])]
        if not missing or not self._options.fails_on_loss:
            return
        gone = [f"{topic}-{partition}" for topic, partition in self._broker.find_deleted(missing)]
        if gone:
            raise OffsetsDeleted(
                f"{', '.join(gone)} were deleted, perhaps with records that the query has not read. Set "
                "failOnDataLoss=false to continue without them"
            )


def _ends_within(start: Positions, end: Positions, most: ReadLimit) -> Positions:
    return limit(start, end, most.max_rows if isinstance(most, ReadMaxRows) else 0)
