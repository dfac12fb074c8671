"""A snapshot is used only if the changelogs still have every later delete, regardless of the workers' clocks."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.processor import Context, Processor
from forebay.runtime.protocol.snapshot_mark import MARK, NUMBER, SnapshotMark, number_of
from forebay.stores import KeyValueStore
from tests.runtime.group_bench import DAY, GroupBench
from tests.runtime.task_records import Number, Total

HOUR = 3_600
KEPT = DAY / 1_000


class Totals(Processor[Number, Total]):
    """Stores the last amount of a key. 0 deletes it."""

    totals = KeyValueStore("totals", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        self.totals.put(ctx.key, Total(event.amount, 1) if event.amount else None)


class Clocks(GroupBench):
    """A job whose workers' clocks are off by `off` seconds."""

    off = 0.0

    def wall_clock(self) -> int:
        return 30 * DAY + super().wall_clock() + int(self.off * 1_000)

    def marks(self) -> dict[str, list[int]]:
        """Return the numbers of the marks of each changelog."""
        topics = self.logs.rows().topics
        marks = {topic: [r for r in self.broker.committed(topic) if r.key_ == MARK] for topic in topics}
        return {topic: [number_of(record.headers_) for record in records] for topic, records in marks.items()}

    def compact(self, seconds: float = KEPT) -> None:
        for _ in self.broker.partitions:
            self.broker.settle()
        self.broker.compact(self.logs.rows().topics, seconds)


def job_with_a_delete(off: float = 0.0) -> Clocks:
    """Return a job that deleted a row after its snapshot, and was then killed."""
    bench = Clocks(Totals)
    bench.off = off
    bench.worker()
    bench.feed(("a", 10, 1), ("b", 20, 2))
    bench.run()
    bench.end_lease()
    bench.feed(("a", 30, 0), ("c", 40, 3))
    bench.run()
    bench.group.abandon()
    return bench


@pytest.mark.parametrize("writer", [0, 6, 48, -6], ids="written-{}-h-off".format)
@pytest.mark.parametrize("reader", [0, 6, -48], ids="read-{}-h-off".format)
@pytest.mark.parametrize("away", [1, 13, 25, 200], ids="{}-h-away".format)
def test_deleted_rows_stay_deleted(writer: int, reader: int, away: int) -> None:
    bench = job_with_a_delete(writer * HOUR)
    bench.broker.now += away * HOUR
    bench.compact()
    bench.off = reader * HOUR
    assert bench.totals() == {"b": Total(2, 1), "c": Total(3, 1)}


def test_changelogs_are_read_from_the_snapshot_s_offsets_if_no_delete_is_missing() -> None:
    bench = job_with_a_delete()
    bench.broker.now += HOUR
    bench.compact()
    bench.worker()
    bench.group.open(bench.lease)
    assert not bench.group.coverage.is_incomplete
    assert set(bench.task.dirty) >= {b"totals\0a", b"totals\0c"}
    assert b"totals\0b" not in bench.task.dirty, "the snapshot has it"


def test_rows_read_from_the_beginning_are_in_the_next_snapshot(caplog: pytest.LogCaptureFixture) -> None:
    bench = job_with_a_delete(off=48 * HOUR)
    bench.broker.now += 30 * HOUR
    bench.compact()
    bench.off = 0
    bench.worker()
    bench.run()
    assert "the snapshot's mark is gone from the changelogs" in caplog.text
    bench.end_lease()
    bench.broker.now += HOUR
    assert bench.totals() == {"b": Total(2, 1), "c": Total(3, 1)}


def test_a_shorter_retention_of_the_topic_counts(caplog: pytest.LogCaptureFixture) -> None:
    bench = job_with_a_delete()
    bench.broker.now += 2 * HOUR
    bench.compact(HOUR)
    bench.worker()
    retention: Any = bench.group.settings.retention
    object.__setattr__(retention, "ask", lambda: HOUR * 1_000)
    bench.group.open(bench.lease)
    assert "the snapshot is too old" in caplog.text
    assert b"totals\0a" not in dict(bench.table.scan(b""))


def test_an_idle_job_does_not_repeat_its_marks_for_a_while() -> None:
    bench = job_with_a_delete()
    bench.worker()
    bench.run()
    for _ in range(5):
        bench.end_lease()
        bench.run()
    numbers = bench.marks()
    assert {len(marks) for marks in numbers.values()} == {2}, "one for each snapshot that followed a commit or an open"
    bench.broker.now += 2 * HOUR
    bench.end_lease()
    assert {len(marks) for marks in bench.marks().values()} == {3}
    bench.broker.now += 11 * HOUR
    assert bench.totals() == {"b": Total(2, 1), "c": Total(3, 1)}


@pytest.mark.parametrize(("away", "is_complete"), [(1, True), (13, False)])
def test_a_snapshot_of_a_release_without_marks_is_judged_by_its_age(away: int, is_complete: bool) -> None:
    bench = Clocks(Totals)
    bench.feed(("a", 10, 1))
    bench.run()
    group = bench.group
    group._stamp = lambda positions, number: group._commit_markers(positions)  # type: ignore[method-assign]
    bench.end_lease()
    assert NUMBER not in group.coverage.offsets()[0, 0]
    bench.broker.now += away * HOUR
    bench.worker()
    bench.group.open(bench.lease)
    assert bench.group.coverage.is_incomplete is not is_complete


def test_a_mark_contains_its_number() -> None:
    assert number_of(SnapshotMark("topic", 0, 17, 0).headers) == 17
    assert number_of(None) == -1
