"""Micro-batches fail or skip offsets that no longer exist in the topics."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import StructType

from forebay.spark import topic_readers
from forebay.spark.errors import OffsetsDeleted, OptionError
from forebay.spark.ranges import Positions, Range
from forebay.spark.source import ForebayDataSource
from forebay.spark.source_options import Bound, Place, Timestamp, read_source_options
from forebay.spark.topic_readers import TopicReader, TopicStreamReader

GIVEN = {"subscribe": "a", "bootstrapServers": "localhost:1", "schemaRegistryUrl": "http://localhost:2"}
BY_PATTERN = {name: text for name, text in GIVEN.items() if name != "subscribe"} | {"subscribePattern": "[ab]"}
PLACE = ("a", 0)


class Offsets:
    """A broker with one partition."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end

    def begins(self) -> Positions:
        return {PLACE: self.begin}

    def ends(self) -> Positions:
        return {PLACE: self.end}


def stream(
    monkeypatch: pytest.MonkeyPatch, broker: Offsets, *, fails: bool, given: Mapping[str, str] = GIVEN
) -> TopicStreamReader:
    monkeypatch.setattr(topic_readers, "Broker", lambda _options: broker)
    unused: Any = None
    return TopicStreamReader(read_source_options({**given, "failOnDataLoss": str(fails).lower()}), unused)


def batch(monkeypatch: pytest.MonkeyPatch, broker: Offsets, **options: str) -> list[Range]:
    monkeypatch.setattr(topic_readers, "Broker", lambda _options: broker)
    unused: Any = None
    return [part.value for part in TopicReader(read_source_options({**GIVEN, **options}), unused).partitions()]


class Topics(Offsets):
    """A broker whose partitions are created and deleted."""

    def __init__(self, **ends: tuple[int, int]) -> None:
        super().__init__(0, 0)
        self.parts = {(topic, 0): part for topic, part in ends.items()}
        self.listed_late: Collection[str] = ()

    def find_deleted(self, places: Collection[tuple[str, int]]) -> list[tuple[str, int]]:
        return sorted(place for place in places if place[0] not in self.listed_late)

    def begins(self) -> Positions:
        return {place: begin for place, (begin, _) in self.parts.items()}

    def ends(self) -> Positions:
        return {place: end for place, (_, end) in self.parts.items()}

    def positions(self, place: Place) -> Positions:
        match place:
            case Bound.EARLIEST:
                return self.begins()
            case Bound.LATEST:
                return self.ends()
            case Timestamp():
                raise AssertionError
        return {(topic, number): at for topic, parts in place.items() for number, at in parts.items()}


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
def test_recreated_topic_is_read_once_from_the_beginning_without_fail_on_data_loss(
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


def test_a_batch_that_starts_after_its_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Topics(a=(2, 9))
    with pytest.raises(OptionError, match="a-0: the read starts at offset 7, which is after its end, offset 6"):
        batch(monkeypatch, broker, startingOffsets='{"a": {"0": 7}}', endingOffsets='{"a": {"0": 6}}')
    with pytest.raises(OptionError, match="starts at offset 9"):
        batch(monkeypatch, broker, startingOffsets="latest", endingOffsets='{"a": {"0": 6}}')
    with pytest.raises(OffsetsDeleted, match="a-0 begins at offset 2"):
        batch(monkeypatch, broker, endingOffsets='{"a": {"0": 1}}')
    assert batch(monkeypatch, broker, endingOffsets='{"a": {"0": 1}}', failOnDataLoss="false") == []
    assert batch(monkeypatch, broker, startingOffsets="latest") == [], "a start at the end is an empty range"


def test_a_batch_refuses_a_limit_of_micro_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ForebayDataSource, "_check_columns", lambda _self, _schema: None)
    source = ForebayDataSource({**GIVEN, "valueFormat": "bytes", "maxOffsetsPerTrigger": "5"})
    with pytest.raises(OptionError, match=r"maxOffsetsPerTrigger is for spark\.readStream"):
        source.reader(StructType())


@pytest.mark.parametrize("fails", [True, False])
def test_a_new_topic_that_has_lost_records_is_data_loss(monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    reader = stream(monkeypatch, Topics(a=(0, 3), b=(4, 6)), fails=fails, given=BY_PATTERN)
    end = reader.latestOffset(offset(3), ReadAllAvailable())
    if fails:
        with pytest.raises(OffsetsDeleted, match="the offsets 0 to 3 of b-0 are gone"):
            reader.partitions(offset(3), end)
    else:
        assert [part.value for part in reader.partitions(offset(3), end)] == [Range("b", 0, 4, 6)]


def test_a_topic_of_a_pattern_that_was_deleted_is_data_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    start = {"a": {"0": 3}, "b": {"0": 5}, "other": {"0": 1}}
    broker = Topics(a=(0, 4))
    with pytest.raises(OffsetsDeleted, match=r"^b-0 were deleted, perhaps"):
        stream(monkeypatch, broker, fails=True, given=BY_PATTERN).latestOffset(start, ReadAllAvailable())
    reader = stream(monkeypatch, broker, fails=False, given=BY_PATTERN)
    assert reader.latestOffset(start, ReadAllAvailable()) == {**start, "a": {"0": 4}}


def test_topic_missing_from_one_listing_is_not_data_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Topics(a=(0, 4))
    broker.listed_late = ("b",)
    reader = stream(monkeypatch, broker, fails=True, given=BY_PATTERN)
    start = {"a": {"0": 3}, "b": {"0": 5}}
    assert reader.latestOffset(start, ReadAllAvailable()) == {"a": {"0": 4}, "b": {"0": 5}}


def test_offsets_that_retention_deleted_do_not_use_up_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = stream(monkeypatch, Offsets(1_000_000, 1_000_010), fails=False)
    assert reader.latestOffset(offset(0), ReadMaxRows(3)) == offset(1_000_003)
