"""Backfills refuse histories that no topic can have, and options that would be ignored."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import types as spark

from forebay.spark.backfill_run import backfill
from forebay.spark.errors import OptionError
from forebay.spark.history import check_columns, check_place
from forebay.spark.sink_values import ValueMismatch


@pytest.mark.parametrize("name", ["Key", "PARTITION", "Offset", "Headers", "Topic"])
def test_a_column_that_differs_in_case_only_is_refused(name: str) -> None:
    row = spark.StructType().add("timestamp", spark.LongType()).add(name, spark.StringType())
    with pytest.raises(OptionError, match=f"the column {name} differs from {name.lower()} in case only: rename it"):
        check_columns("orders", row)


def test_timestamp_column_in_another_case_is_reported() -> None:
    with pytest.raises(OptionError, match="rename it to timestamp"):
        check_columns("orders", spark.StructType().add("Timestamp", spark.LongType()))


@pytest.mark.parametrize(
    ("partition", "offset", "timestamp", "message"),
    [
        (None, 0, 0, "partition None, but the topic has the partitions 0 to 3"),
        (4, 0, 0, "partition 4, but"),
        (-1, 0, 0, "partition -1, but"),
        (0, None, 0, "offset None in partition 0: give every record its offset, or drop the column"),
        (0, -1, 0, "offset -1 in partition 0"),
        (0, 0, None, "timestamp None ms"),
        (0, 0, -1, "timestamp -1 ms: a record's timestamp is 1970"),
    ],
)
def test_a_record_that_its_topic_cannot_have_is_refused(
    partition: int | None, offset: int | None, timestamp: int | None, message: str
) -> None:
    check_place("orders", 3, 0, 0, 4)
    with pytest.raises(ValueMismatch, match=f"history of orders: a record has the {message}"):
        check_place("orders", partition, offset, timestamp, 4)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"options": {"bootstrapServer": "kafka:9092"}}, "there is no option bootstrapserver; did you mean"),
        ({"options": {"subscribe": "a"}}, "there is no option subscribe.*a connection has bootstrapServers"),
        ({"starting_offsets": "earlist"}, "starting_offsets is 'earlist': specify earliest, latest, or a time in ms"),
    ],
)
def test_backfill_refuses_unsupported_options(given: dict[str, Any], message: str) -> None:
    session: Any = None
    with pytest.raises(OptionError, match=message):
        backfill(session, "user-sessions", {}, **given)
