"""The history of a job's inputs as one DataFrame of raw records, partitioned by task group and in processing order."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructType, TimestampNTZType, TimestampType

from forebay.spark.buckets import bucket_ids
from forebay.spark.errors import OptionError
from forebay.spark.sink_values import ValueMismatch

RAW = (
    "key binary, value binary, headers array<struct<key: string, value: binary>>, timestamp bigint, partition int, "
    "offset bigint"
)
"""Columns of a topic's history. `partition` is never null. `offset` is null if the history has no offsets."""
OWN = ("key", "timestamp", "partition", "offset", "headers", "topic")
"""Columns of a history that are not fields of its value."""


@dataclass(frozen=True, slots=True)
class HistoryTopic:
    """The history of an input.

    Args:
        frame: The history, with the columns `RAW`.
        rank: Rank of the input's partitions at equal timestamps (see `InputPartition`).
        is_whole: Whether every task reads all partitions.
        is_numbered: Whether the rows have the offsets of the topic.
    """

    frame: DataFrame
    rank: int
    is_whole: bool
    is_numbered: bool = False


def check_columns(topic: str, row: StructType) -> None:
    """Check that the columns of a history can be those of records.

    Raises:
        OptionError: A column is missing, ambiguous or of the wrong type. The message says what to change.
    """
    names = row.fieldNames()
    if len(set(names)) < len(names):
        raise OptionError(f"history of {topic}: several columns have one name: rename them, or drop all but one")
    for name in names:
        own = name.casefold()
        if own in OWN and own not in names:
            raise OptionError(
                f"history of {topic}: the column {name} differs from {own} in case only: rename it to {own} if it is "
                f"the record's {own}; put the value's fields into a struct `value` if it is one of them"
            )
    if "timestamp" not in names:
        raise OptionError(
            f"history of {topic}: it has no column timestamp, by which records are sorted: add it, for example "
            '.withColumn("timestamp", timestamp_millis("event_time"))'
        )
    kind = row["timestamp"].dataType
    if not isinstance(kind, LongType | TimestampType):
        hint = "CAST it to TIMESTAMP" if isinstance(kind, TimestampNTZType) else "give TIMESTAMP, or BIGINT (ms)"
        raise OptionError(f"history of {topic}: timestamp is {kind.simpleString().upper()}: {hint}")
    if "headers" in names and not isinstance(row["headers"].dataType, ArrayType):
        raise OptionError(f"history of {topic}: headers must be ARRAY<STRUCT<key: STRING, value: BINARY>>")
    if "offset" in names and "partition" not in names:
        raise OptionError(
            f"history of {topic}: it has the column offset, but not partition: add partition; or drop offset, and "
            "records are sorted by timestamp"
        )


def check_place(topic: str, partition: int | None, offset: int | None, timestamp: int | None, partitions: int) -> None:
    """Check that a record's partition, offset and timestamp are possible in its topic.

    Args:
        topic: Name of the topic.
        partition, offset, timestamp: Values of the history. The timestamp is in ms.
        partitions: Number of the topic's partitions.

    Raises:
        ValueMismatch: A value is not possible. The message names it, and the values that are allowed.
    """
    problem = ""
    if partition is None or not 0 <= partition < partitions:
        problem = f"partition {partition}, but the topic has the partitions 0 to {partitions - 1}"
    elif offset is None or offset < 0:
        problem = f"offset {offset} in partition {partition}: give every record its offset, or drop the column"
    elif timestamp is None or timestamp < 0:
        problem = f"timestamp {timestamp} ms: a record's timestamp is 1970-01-01 00:00 UTC or later"
    if problem:
        raise ValueMismatch(f"history of {topic}: a record has the {problem}")


def has_offsets(frame: DataFrame) -> bool:
    """Return whether a history contains the offsets of its records."""
    return "offset" in frame.columns


def with_milliseconds(frame: DataFrame) -> DataFrame:
    """Return a history with the additional column `_ms`, which has the records' timestamps in milliseconds."""
    stamp = F.col("timestamp")
    is_long = isinstance(frame.schema["timestamp"].dataType, LongType)
    return frame.withColumn("_ms", stamp if is_long else F.unix_millis(stamp))


def digest(frames: Mapping[str, DataFrame]) -> str:
    """Return a hash of the content of those histories that have no offsets.

    An interrupted backfill resumes at the offsets where it stopped. If a history has no offsets, they are row numbers,
    so the next run must have the same rows. The hash detects other rows.
    """
    parts = [",".join(sorted(frames))]
    for name in sorted(frames):
        frame = frames[name]
        if has_offsets(frame):
            continue
        hashable = [F.to_json(F.struct(column)) for column in frame.columns]
        content = frame.select(F.xxhash64(*hashable).alias("hash")).agg(F.count("*"), F.bit_xor("hash")).first()
        parts.append(f"{name}:{content[0]}:{content[1]}" if content is not None else name)
    return hashlib.blake2b(";".join(parts).encode(), digest_size=8).hexdigest()


def order_history(topics: Mapping[str, HistoryTopic], tasks: int, groups: int) -> DataFrame:
    """Return the rows of all inputs in the order of processing, with the rows of task group g in Spark partition g.

    A job merges the partitions that a task reads by timestamp, and does not change the order within a partition. A
    record that is older than an earlier record of its partition is therefore processed directly after it. For this
    reason, rows are sorted by `turn`, which is the largest timestamp of the partition up to the row, or -1 in a global
    table. Rows without an offset are first sorted by timestamp and numbered.

    Args:
        topics: Histories by name of the input.
        tasks: Number of tasks of the job.
        groups: Number of task groups.
    """
    buckets = F.array(*(F.lit(bucket) for bucket in bucket_ids(groups, groups)))
    parts = []
    for name, topic in topics.items():
        group = (F.col("partition") % tasks) % groups
        bucket = F.explode(buckets) if topic.is_whole else F.element_at(buckets, group + 1)
        rank = F.lit(topic.rank)
        more = (F.lit(name).alias("name"), rank.alias("rank"), bucket.alias("bucket"))
        parts.append(topic.frame.select("*", *more, F.lit(topic.is_numbered).alias("numbered")))
    rows = reduce(DataFrame.unionAll, parts).repartition(groups, "bucket")
    order = Window.partitionBy("bucket", "name", "partition").orderBy("offset", "timestamp", "key", "value", "headers")
    largest = F.max("timestamp").over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))
    return (
        rows.withColumn("number", F.row_number().over(order))
        .withColumn("turn", F.when(F.col("rank") < 0, F.lit(-1)).otherwise(largest).cast("bigint"))
        .withColumn("offset", F.when(F.col("numbered"), F.col("offset")).otherwise(F.col("number") - 1).cast("bigint"))
        .sortWithinPartitions("turn", "rank", "name", "partition", "offset")
        .select("key", "value", "headers", "timestamp", "partition", "offset", "name", "turn")
    )
