"""Spark sorts a history as a job merges its input partitions, and puts each task group's rows into its partition."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from own_jvm import own_jvm
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from forebay.in_memory.topics import Topics
from forebay.spark.history import RAW, HistoryTopic, digest, order_history
from tests.runtime.test_history_order import PARTITIONS, fill_topics, sort_rows

TASKS = GROUPS = 2


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with own_jvm():
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        yield session
        session.stop()


def as_history(spark: SparkSession, topics: Topics) -> dict[str, HistoryTopic]:
    history = {}
    for topic, rank in {topic: rank for topic, _, rank in PARTITIONS}.items():
        rows = [
            (record.key_, record.value_, None, record.timestamp_, partition.number, record.offset_)
            for partition in topics.partitions[topic]
            for record in partition.records
        ]
        random.Random(1).shuffle(rows)
        history[topic] = HistoryTopic(spark.createDataFrame(rows, RAW), rank, rank < 0, is_numbered=True)
    return history


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_sorted_as_a_job_merges_them(spark: SparkSession, seed: int) -> None:
    topics = fill_topics(random.Random(seed))
    frame = order_history(as_history(spark, topics), TASKS, GROUPS).withColumn("group", F.spark_partition_id())
    rows = frame.collect()
    for group in range(GROUPS):
        own = [
            (row.turn, row.record.topic(), row.record.partition(), row.record.offset())
            for row in sort_rows(topics)
            if row.turn < 0 or row.record.partition() % TASKS == group
        ]
        assert [
            (row["turn"], row["name"], row["partition"], row["offset"]) for row in rows if row.group == group
        ] == own


def test_rows_without_offsets_are_sorted_by_time_and_numbered(spark: SparkSession) -> None:
    rows = [(b"k", value, None, at, 0, None) for value, at in ((b"c", 3), (b"a", 1), (b"b", 1), (b"d", 9))]
    frame = spark.createDataFrame(rows, RAW)
    ordered = order_history({"clicks": HistoryTopic(frame, 1, False)}, 1, 1).collect()
    assert [(row.value, row.offset, row.turn) for row in ordered] == [
        (b"a", 0, 1),
        (b"b", 1, 1),
        (b"c", 2, 3),
        (b"d", 3, 9),
    ]
    assert digest({"clicks": frame.drop("offset")}) == digest({"clicks": frame.drop("offset").repartition(3)})
    assert digest({"clicks": frame.drop("offset")}) != digest({"clicks": frame.drop("offset").where("timestamp < 9")})
