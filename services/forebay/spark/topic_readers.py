"""The batch and streaming readers of topics, which plan the offset range of each Spark task."""

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
    """Batch reader of topics, with one Spark task per partition.

    Args:
        options: Options of the read.
        records: Reads a range in a task.
    """

    def __init__(self, options: SourceOptions, records: RecordReader) -> None:
        self._options, self._records = options, records
        self._filters: list[Filter] = []

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Store filters, with which `partitions` reduces the ranges. Spark applies all of them to the rows again."""
        self._filters = list(filters)
        return filters

    def partitions(self) -> Sequence[InputPartition]:
        """Return the offset range of each Spark task."""
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
        """Return the records of one range. If there are no ranges, Spark calls this once with the value None."""
        return iter(()) if partition.value is None else self._records.read(partition.value)


class TopicStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Streaming reader of topics. Partitions and topics that are created later are read from their beginning.

    Args:
        options: Options of the read.
        records: Reads a range in a task.
    """

    def __init__(self, options: SourceOptions, records: RecordReader) -> None:
        self._options, self._records = options, records
        self._broker = Broker(options)
        self._until: Positions | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return the offsets at which a new query starts."""
        return as_json(self._broker.positions(self._options.start or Bound.LATEST))

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit of a micro-batch, from the option maxOffsetsPerTrigger."""
        return ReadMaxRows(self._options.max_offsets) if self._options.max_offsets else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Store the current ends of the topics, at which the query will end."""
        self._until = self._broker.ends()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return the end offsets of the next micro-batch."""
        begun, current = from_json(start), self._broker.ends()
        self._check_deleted(begun, current)
        ends = self._ends(current)
        begun |= self._new_partitions(begun, ends)
        begun = self._rewind(begun, current)
        if isinstance(limit, ReadMaxRows) and not self._options.fails_on_loss:
            # Offsets that retention has deleted must not count toward the limit.
            begins = self._broker.begins()
            begun = {place: max(offset, begins.get(place, offset)) for place, offset in begun.items()}
        # The ends of an available-now query are looked up before its start offsets. If it starts at the latest offsets,
        # they may be after these ends.
        ends = {place: max(end, begun[place]) for place, end in ends.items()}
        return as_json(_ends_within(begun, ends, limit) | {place: begun[place] for place in begun.keys() - ends.keys()})

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Return the current ends of the topics, for the query's progress."""
        return as_json(self._broker.ends())

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return the offset range of each Spark task of a micro-batch."""
        begun, ends = from_json(start), from_json(end)
        begun |= self._new_partitions(begun, ends)
        begun = self._rewind(begun, ends)
        # After a restart, Spark repeats the last micro-batch of the checkpoint, whose offsets may no longer exist.
        last = self._rewind(ends, self._broker.ends())
        ranges = ranges_between(begun, {place: min(offset, last[place]) for place, offset in ends.items()})
        if not ranges:
            return []
        left = check_loss(ranges, self._broker.begins(), fails=self._options.fails_on_loss)
        return [InputPartition(item) for item in left]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Return the records of one range. If there are no ranges, Spark calls this once with the value None."""
        return iter(()) if partition.value is None else self._records.read(partition.value)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the broker client, which can't be pickled and which tasks do not need."""
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
        # With failOnDataLoss, start at 0 even in a new partition: if retention has already deleted records there,
        # `check_loss` reports it.
        begins = self._broker.begins() if new and not self._options.fails_on_loss else {}
        return {place: begins.get(place, 0) for place in new}

    def _check_deleted(self, begun: Positions, ends: Positions) -> None:
        """Raise OffsetsDeleted if a partition that matches the pattern was deleted.

        If topics are subscribed by name, `Broker.partitions` reports a missing topic.
        """
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
