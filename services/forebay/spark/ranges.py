"""Computation of the offset ranges that tasks read. No function here uses the broker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark.sql.datasource import EqualTo, Filter, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

from forebay.kafka.partition_ends import Place as Partition
from forebay.spark.errors import OffsetsDeleted, OptionError

EARLIEST, LATEST = -2, -1
"""Special values of an offset in options."""
Positions = dict[Partition, int]
"""Offsets by topic and partition."""


class Range(NamedTuple):
    """Offsets [start, end) of a partition."""

    topic: str
    partition: int
    start: int
    end: int


def as_json(positions: Mapping[Partition, int]) -> dict[str, dict[str, int]]:
    """Return positions as Spark stores a query's offsets, by topic and then by partition."""
    result: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(positions.items()):
        result.setdefault(topic, {})[str(partition)] = offset
    return result


def from_json(offsets: Mapping[str, Mapping[str, int]]) -> Positions:
    """Return positions from the form that `as_json` returns."""
    return {(topic, int(number)): offset for topic, places in offsets.items() for number, offset in places.items()}


def ranges_between(start: Positions, end: Positions) -> list[Range]:
    """Return the non-empty ranges between two positions. A partition without a start is skipped."""
    return [
        Range(topic, partition, start[topic, partition], offset)
        for (topic, partition), offset in sorted(end.items())
        if start.get((topic, partition), offset) < offset
    ]


def limit(start: Positions, end: Positions, most: int) -> Positions:
    """Return an end about `most` offsets after the start. Each partition gets a share in proportion to its backlog.

    Every partition that has records advances by at least one offset, as in Spark's Kafka source, so that the number of
    offsets can exceed `most` by the number of partitions.
    """
    waiting = {place: max(0, offset - start.get(place, offset)) for place, offset in end.items()}
    total = sum(waiting.values())
    if not most or total <= most:
        return dict(end)
    return {
        # At least one offset, because a partition whose share rounds to zero would not be read while others have a
        # backlog.
        place: start.get(place, end[place]) + (min(count, max(1, count * most // total)) if count else 0)
        for place, count in waiting.items()
    }


def check_offsets(offsets: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    """Check that offsets from options are possible.

    Args:
        offsets: Offsets that a user specified.
        ends: End of each partition.

    Raises:
        OptionError: An offset is negative without being EARLIEST or LATEST, or is larger than the partition's end.
    """
    for (topic, partition), offset in sorted(offsets.items()):
        if offset < EARLIEST:
            raise OptionError(
                f"{topic}-{partition} has no offset {offset}: write an offset, -2 (earliest) or -1 (latest)"
            )
        if offset > ends[topic, partition]:
            raise OptionError(
                f"{topic}-{partition} has no offset {offset}: its committed records end at offset "
                f"{ends[topic, partition]}. Write -1 for the latest"
            )


def check_order(start: Positions, end: Positions, begins: Mapping[Partition, int], *, fails: bool) -> None:
    """Check that a batch does not start after its end in any partition. It may start at the end.

    Args:
        start: Start of each partition's range.
        end: End of each partition's range.
        begins: First offset of each partition that still exists.
        fails: Whether it is an error if retention has deleted the end.

    Raises:
        OptionError: The start that the options specify is after the end.
        OffsetsDeleted: The end was deleted and `fails` is set.
    """
    for (topic, partition), offset in sorted(start.items()):
        place = topic, partition
        last, begin = end.get(place, offset), begins.get(place, 0)
        if offset <= last:
            continue
        if last >= begin:
            raise OptionError(
                f"{topic}-{partition}: the read starts at offset {offset}, which is after its end, offset {last}: give "
                "a startingOffsets or startingTimestamp that is not after endingOffsets or endingTimestamp"
            )
        if fails:
            raise OffsetsDeleted(
                f"{topic}-{partition} begins at offset {begin}, so the records before the read's end, offset {last}, "
                "are gone: retention has deleted them. Set failOnDataLoss=false to read what is left"
            )


def rewind(start: Mapping[Partition, int], ends: Mapping[Partition, int], begins: Mapping[Partition, int]) -> Positions:
    """Return the start positions, except that a partition which ends before its position starts at its beginning.

    The topic of such a partition was recreated, so all of its records are new.
    """
    return {
        place: begins.get(place, 0) if place in ends and ends[place] < offset else offset
        for place, offset in start.items()
    }


def check_ends(positions: Mapping[Partition, int], ends: Mapping[Partition, int]) -> None:
    """Check that no partition ends before the position that the stream has reached.

    Raises:
        OffsetsDeleted: A partition ends earlier, because its topic was recreated or a broker lost records.
    """
    for (topic, partition), offset in sorted(positions.items()):
        end = ends.get((topic, partition), offset)
        if end < offset:
            raise OffsetsDeleted(
                f"{topic}-{partition} ends at offset {end}, but the query has read up to offset {offset}: the topic "
                "was created again, or its broker lost records. Start the query with a new checkpoint, or set "
                "failOnDataLoss=false to read the partition from its beginning"
            )


def check_loss(ranges: Iterable[Range], begins: Mapping[Partition, int], *, fails: bool) -> list[Range]:
    """Return the ranges without the offsets that retention has deleted.

    Args:
        ranges: The ranges to read.
        begins: First offset of each partition that still exists. A missing partition was deleted.
        fails: Whether deleted offsets are an error.

    Raises:
        OffsetsDeleted: Offsets were deleted and `fails` is set.
    """
    result = []
    for item in ranges:
        begin = begins.get((item.topic, item.partition), item.end)
        if item.start < begin and fails:
            raise OffsetsDeleted(
                f"the offsets {item.start} to {min(begin, item.end) - 1} of {item.topic}-{item.partition} are gone: "
                "retention has deleted them, or the topic was created again. Set failOnDataLoss=false to continue "
                "with the records that are left"
            )
        if max(item.start, begin) < item.end:
            result.append(item._replace(start=max(item.start, begin)))
    return result


def prune(ranges: Iterable[Range], filters: Sequence[Filter]) -> list[Range]:
    """Return the ranges that can contain rows which pass all filters. Spark applies the filters to the rows again."""
    result = list(ranges)
    for condition in filters:
        result = [part for item in result if (part := _prune_one(item, condition)) is not None]
    return result


def _prune_one(item: Range, condition: Filter) -> Range | None:
    match condition:
        case EqualTo(attribute=("topic",), value=value):
            keeps = item.topic == value
        case In(attribute=("topic",), value=values):
            keeps = item.topic in values
        case EqualTo(attribute=("partition",), value=value):
            keeps = item.partition == value
        case In(attribute=("partition",), value=values):
            keeps = item.partition in values
        case EqualTo(attribute=("offset",), value=value):
            return _cut(item, value, value + 1)
        case GreaterThan(attribute=("offset",), value=value):
            return _cut(item, value + 1, item.end)
        case GreaterThanOrEqual(attribute=("offset",), value=value):
            return _cut(item, value, item.end)
        case LessThan(attribute=("offset",), value=value):
            return _cut(item, item.start, value)
        case LessThanOrEqual(attribute=("offset",), value=value):
            return _cut(item, item.start, value + 1)
        case _:
            return item
    return item if keeps else None


def _cut(item: Range, start: int, end: int) -> Range | None:
    part = item._replace(start=max(item.start, start), end=min(item.end, end))
    return part if part.start < part.end else None
