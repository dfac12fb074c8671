"""Unread records in repartition topics must have the format that the edited topology declares, or it is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.driver import committed_records
from forebay.runtime.driver.committed_records import CommittedRecords, Take
from forebay.runtime.driver.record_formats import (
    Reading,
    compare_formats,
    former_joins,
    has_other_formats,
    is_of_former_release,
    layouts_to_read,
    readings_of,
    refuse_misread,
)
from forebay.runtime.errors import FormatChanged
from forebay.runtime.protocol.position import SenderTime, TaskPosition
from forebay.runtime.protocol.times import data_headers, sender_and_digest
from forebay.runtime.task.moves import plan_moves
from forebay.runtime.task.places import Wanted, Written
from forebay.runtime.task.record_formats import InputFormats, RecordFormat, digest_of, row_of, topic_of
from forebay.runtime.task.repartition_queue import RepartitionPartition
from forebay.stores.layouts import encode_layout
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.broker import Record

TOPIC = "app-by-repartition"
LONGS = RecordFormat.of_layout(TOPIC, {"keys": "text", "values": "long"})
DOUBLES = RecordFormat.of_layout(TOPIC, {"keys": "text", "values": "double"})
UNKNOWN = RecordFormat.of_layout(TOPIC, {"keys": None, "values": None})
FORMATS = {TOPIC: DOUBLES}
"""The declared formats."""


def test_unknown_formats_have_no_digest() -> None:
    assert UNKNOWN.digest == ""
    assert data_headers("a-0", "") == data_headers("a-0")


def test_a_record_names_its_sender_and_its_format() -> None:
    ((_, name),) = data_headers("a-0", LONGS.digest)
    assert sender_and_digest(name or b"") == (b"a-0", LONGS.digest)
    assert sender_and_digest(b"a-0") == (b"a-0", "")


def test_the_row_of_a_record_format_does_not_belong_to_a_store() -> None:
    row = row_of(TOPIC, LONGS.digest)
    assert (topic_of(row), digest_of(row)) == (TOPIC, LONGS.digest)
    assert topic_of(b"\x01layout\0totals") == ""
    assert topic_of(b"\x01layout\0timers of x") == ""


def test_the_last_reader_of_a_partition_counts() -> None:
    earlier = TaskPosition("c", 1, ends=((TOPIC, 0, 5),), formats=((TOPIC, "a"),))
    later = TaskPosition("c", 9, ends=((TOPIC, 0, 8),), formats=((TOPIC, "b"),))
    assert readings_of([earlier, later], [(TOPIC, 0), (TOPIC, 1)]) == {
        (TOPIC, 0): Reading(8, "b"),
        (TOPIC, 1): Reading(),
    }
    assert readings_of([later, earlier], [(TOPIC, 0)]) == {(TOPIC, 0): Reading(8, "b")}


@pytest.mark.parametrize("name", ["columns-of-U-joined", "columns-of-U-joined-2", "results-joined", "select-joined-12"])
def test_joins_of_an_earlier_release_are_known_until_their_new_topic_is_read(name: str) -> None:
    former = f"app-{name}-repartition"
    before = TaskPosition("c", 1, ends=((former, 0, 5), ("s", 0, 7)))
    after = TaskPosition("c", 2, ends=(*before.ends, ("app-j-join-repartition", 0, 1)))
    formats = {"app-j-join-repartition"}
    assert former_joins("app", formats, [before]) == {former}
    assert former_joins("app", formats, [before, after]) == set()
    assert former_joins("app", {*formats, former}, [before]) == set()
    assert former_joins("another", formats, [before]) == set()


def test_other_topics_that_a_program_has_read_are_no_joins() -> None:
    names = ("j-join", "t", "results", "columns-of-U-along", "joined")
    position = TaskPosition("c", 1, ends=tuple((f"app-{name}-repartition", 0, 5) for name in names))
    assert former_joins("app", {"app-new-repartition"}, [position]) == set()


class WrittenRecords:
    """Records by place, and layouts that a reader has recorded (implements `Records`)."""

    internal = ("app-1-task",)

    def __init__(self, digests: dict[tuple[str, int], list[str]], known: Sequence[RecordFormat]) -> None:
        self.records: dict[tuple[str, int], list[Record]] = {
            place: [record(offset, "a-0", digest) for offset, digest in enumerate(names)]
            for place, names in digests.items()
        }
        self.records[self.internal[0], 0] = [
            Record(
                (self.internal[0], 0),
                offset,
                row_of(TOPIC, kind.digest),
                encode_layout(kind.layout),
                1,
                None,
                None,
                0,
            )
            for offset, kind in enumerate(known)
        ]

    def read(self, offsets: Mapping[tuple[str, int], int], take: Take) -> None:
        for place, begin in offsets.items():
            for one in self.records.get(place, ())[begin:]:
                take(place, one, one.offset())


def test_after_an_edit_that_not_all_groups_began_the_former_version_looks_at_all_partitions() -> None:
    # Group 0 of the version with doubles sent records to the partition of group 1, which was not opened.
    positions = {
        (1, 0): TaskPosition("c", 9, ends=((TOPIC, 0, 0),), formats=((TOPIC, DOUBLES.digest),)),
        (1, 1): TaskPosition("c", 8, ends=((TOPIC, 1, 0),), formats=((TOPIC, LONGS.digest),)),
    }
    written = WrittenRecords({(TOPIC, 1): [DOUBLES.digest] * 2}, [LONGS, DOUBLES])
    with pytest.raises(FormatChanged, match=r"declared with long, and 2 records are unread \(partition 1: 2\)"):
        compare_formats(written, {TOPIC: LONGS}, positions, 2)
    assert compare_formats(written, {TOPIC: DOUBLES}, positions, 2).layouts == {}


def test_a_topic_whose_readers_all_declare_the_present_format_is_not_read() -> None:
    positions = {(1, 0): TaskPosition("c", 9, ends=((TOPIC, 0, 0),), formats=((TOPIC, LONGS.digest),))}
    written = WrittenRecords({}, [])
    written.read = None  # type: ignore[assignment, method-assign]
    check = compare_formats(written, {TOPIC: LONGS}, positions, 1)
    assert (check.layouts, check.reason) == ({}, "")


def test_deleted_topics_of_former_joins_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"kept": 2, "of another number of tasks": 3}
    monkeypatch.setattr(committed_records, "TopicAdmin", lambda _: SimpleNamespace(partitions=lambda _: counts))
    nothing: Any = None
    assert CommittedRecords(nothing, nothing, "app", 2).existing({"kept", "deleted", "of another number of tasks"}) == [
        "kept"
    ]


def test_used_records_behind_unused_ones_are_known_by_their_sender() -> None:
    position = TaskPosition("c", 1, ends=((TOPIC, 0, 5),), senders=(SenderTime(TOPIC, "a-0", 7, 1),))
    assert readings_of([position], [(TOPIC, 0)])[TOPIC, 0].used == {b"a-0": 7}


def test_the_error_names_the_number_and_partitions_of_unread_records() -> None:
    unread = {(TOPIC, 3): Counter({LONGS.digest: 4}), (TOPIC, 0): Counter({LONGS.digest: 12, DOUBLES.digest: 1})}
    assert has_other_formats(unread, FORMATS)
    with pytest.raises(FormatChanged) as refusal:
        refuse_misread(unread, FORMATS, {TOPIC: {LONGS.digest: LONGS.layout}})
    assert (
        f"{TOPIC} holds rows of long, but is declared with double, and 16 records are unread (partition 0: 12, "
        "partition 3: 4): the job would misread them. Run the version"
    ) in str(refusal.value)


def test_a_format_that_no_task_recorded_is_refused() -> None:
    with pytest.raises(FormatChanged, match=r"a format that no task recorded \(\w+\), and 1 record is unread"):
        refuse_misread({(TOPIC, 0): Counter([LONGS.digest])}, FORMATS, {TOPIC: {}})


def test_records_without_a_format_and_of_the_declared_one_are_not_refused() -> None:
    unread = {(TOPIC, 0): Counter(["", DOUBLES.digest])}
    assert not has_other_formats(unread, FORMATS)
    refuse_misread(unread, FORMATS, {TOPIC: {}})
    assert layouts_to_read(unread, FORMATS, {TOPIC: {}}) == {}


def test_readers_receive_the_layouts_of_unread_records() -> None:
    before = RecordFormat.of_layout(TOPIC, {"keys": "text", "values": ["by name", "JSON", "1"]})
    now = RecordFormat.of_layout(TOPIC, {"keys": "text", "values": ["by name", "JSON", "2"]})
    known = {TOPIC: {before.digest: before.layout}}
    unread = {(TOPIC, 0): Counter([before.digest])}
    refuse_misread(unread, {TOPIC: now}, known)
    assert layouts_to_read(unread, {TOPIC: now}, known) == known


def partition_of(kind: RecordFormat, start: int = 0) -> RepartitionPartition:
    return RepartitionPartition(TOPIC, 0, ["a-0", "b-0"], [SenderTime(TOPIC, "b-0", 9, 1)], start, kind=kind)


def record(offset: int, sender: str, digest: str) -> Record:
    return Record((TOPIC, 0), offset, b"k", b"v", 1, data_headers(sender, digest), None, 0)


def test_a_reader_accepts_records_with_its_format_or_without_a_format() -> None:
    partition = partition_of(LONGS)
    for offset, digest in enumerate(("", LONGS.digest)):
        partition.take(record(offset, "a-0", digest), offset)
    assert len(partition.senders[b"a-0"].queue) == 2


def test_a_reader_whose_formats_are_not_known_takes_all_records() -> None:
    partition = partition_of(UNKNOWN)
    for offset in range(2):
        partition.take(record(offset, "a-0", DOUBLES.digest), offset)
    assert len(partition.senders[b"a-0"].queue) == 2


def test_a_reader_refuses_a_record_of_another_format_unless_it_has_used_it() -> None:
    partition = partition_of(LONGS)
    partition.take(record(8, "b-0", DOUBLES.digest), 8)
    with pytest.raises(FormatChanged, match=f"{TOPIC}-0 holds records of another version"):
        partition.take(record(9, "b-0", DOUBLES.digest), 9)
    assert partition.dropped == 0


def test_records_of_a_removed_sender_are_counted_as_dropped_in_any_format() -> None:
    partition = partition_of(LONGS)
    partition.take(record(0, "gone-0", DOUBLES.digest), 0)
    assert (partition.dropped, partition.strangers) == (1, {"gone-0"})


def test_formats_are_recorded_once() -> None:
    table = MemoryTable()
    formats = InputFormats([partition_of(LONGS)], table)
    assert formats.changes == [(row_of(TOPIC, LONGS.digest), encode_layout(LONGS.layout))]
    assert formats.digests == ((TOPIC, LONGS.digest),)
    table.apply(formats.changes, b"")
    assert InputFormats([partition_of(LONGS)], table).changes == []
    assert len(InputFormats([partition_of(DOUBLES)], table).changes) == 1


def test_recorded_formats_follow_the_reader_to_another_place() -> None:
    row = row_of(TOPIC, LONGS.digest), encode_layout(LONGS.layout)
    position = TaskPosition("c", 3, ends=((TOPIC, 0, 5),), formats=((TOPIC, LONGS.digest),), sub_topology="by")
    other = TaskPosition("c", 3, ends=(("numbers", 0, 5),), sub_topology="numbers")

    def written(position: TaskPosition, rows: list[tuple[bytes, bytes]]) -> Written:
        return Written(position, lambda prefix: [row for row in rows if row[0].startswith(prefix)])

    wanted = [
        Wanted("numbers", frozenset({("numbers", 0)}), frozenset(), frozenset()),
        Wanted("by", frozenset({(TOPIC, 0)}), frozenset(), frozenset()),
    ]
    moves = plan_moves(wanted, [written(position, [row]), written(other, [])])
    assert moves[1].changes == [row]
    assert moves[1].position.formats == position.formats
    assert moves[0].changes == [(row[0], None)]
    assert moves[0].position.formats == ()


@pytest.mark.parametrize(
    ("names", "expected"),
    [(["orders", "by"], False), (["orders", ""], True), (["orders", "by", ""], False), ([], False)],
)
def test_positions_of_release_0_2_name_no_sub_topology(names: list[str], expected: bool) -> None:
    positions = {(number, 0): TaskPosition("c", 3, sub_topology=name) for number, name in enumerate(names)}
    assert is_of_former_release(positions, 2) is expected
