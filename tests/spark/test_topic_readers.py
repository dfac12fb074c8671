"""Micro-batches of topics whose offsets are gone."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from forebay.spark import topic_readers
from forebay.spark.errors import OffsetsDeleted
from forebay.spark.ranges import Positions, Range
from forebay.spark.source_options import read_source_options
from forebay.spark.topic_readers import TopicStreamReader

GIVEN = {"subscribe": "a", "bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}
PLACE = ("a", 0)


class Offsets:
    """Answers as a broker does."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end

    def begins(self) -> Positions:
        return {PLACE: self.begin}

    def ends(self) -> Positions:
        return {PLACE: self.end}


def stream(monkeypatch: pytest.MonkeyPatch, broker: Offsets, *, fails: bool) -> TopicStreamReader:
    monkeypatch.setattr(topic_readers, "Broker", lambda _options: broker)
    unused: Any = None
    return TopicStreamReader(read_source_options({**GIVEN, "failOnDataLoss": str(fails).lower()}), unused)


def offset(position: int) -> dict[str, Any]:
    return {"a": {"0": position}}


def ranges(reader: TopicStreamReader, start: int, end: int) -> list[Range]:
    return [part.value for part in reader.partitions(offset(start), offset(end))]


def test_a_topic_that_was_created_again_stops_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = stream(monkeypatch, Offsets(0, 4), fails=True)
    with pytest.raises(OffsetsDeleted, match=r"a-0 ends at offset 4, but the query has read up to offset 10"):
        reader.latestOffset(offset(10), ReadAllAvailable())
    with pytest.raises(OffsetsDeleted, match="a-0 ends at offset 4"):
        reader.partitions(offset(2), offset(10))


@pytest.mark.parametrize("most", [0, 1, 3, 100])
def test_without_fail_on_data_loss_it_is_read_from_its_beginning_once(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    reader = stream(monkeypatch, Offsets(1, 7), fails=False)
    assert ranges(reader, 5, 10) == [], "a micro-batch that Spark repeats has no records any more"
    position = 10
    read: list[int] = []
    while position != 7:
        end = reader.latestOffset(offset(position), ReadMaxRows(most) if most else ReadAllAvailable())["a"]["0"]
        for item in ranges(reader, position, end):
            read += range(item.start, item.end)
        position = end
    assert read == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("fails", [True, False])
def test_a_query_that_starts_behind_the_end_it_reads_up_to_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    broker = Offsets(0, 100)
    reader = stream(monkeypatch, broker, fails=fails)
    reader.prepareForTriggerAvailableNow()
    broker.end = 105
    end = reader.latestOffset(offset(105), ReadAllAvailable())
    assert end == offset(105)
    assert ranges(reader, 105, end["a"]["0"]) == []


@pytest.mark.parametrize("fails", [True, False])
def test_offsets_that_retention_deleted(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    reader = stream(monkeypatch, Offsets(6, 9), fails=fails)
    if fails:
        with pytest.raises(OffsetsDeleted, match="the offsets 2 to 5 of a-0 are gone"):
            reader.partitions(offset(2), offset(9))
    else:
        assert ranges(reader, 2, 9) == [Range("a", 0, 6, 9)]
