"""Records that did not fit into a sender's queue are read again. A restart neither loses nor repeats any."""

from __future__ import annotations

import random

import pytest

from forebay.runtime.protocol.times import TaskTime
from forebay.runtime.task import repartition_queue
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.repartition_queue import RepartitionPartition
from tests.runtime.records import REPARTITION, announce_time, forward

SENDERS = ("0-0", "0-1", "0-2")
A, B, C = SENDERS
COUNT = 80


class Backlog:
    """A partition with more records of each sender than its queue can hold, and the task that reads it.

    Args:
        written: Sender and timestamp of each record, by offset.
    """

    def __init__(self, written: list[tuple[str, int]]) -> None:
        self.written = written
        self.part = RepartitionPartition(REPARTITION, 0, SENDERS, (), 0)
        self.part.end = len(written)
        self.task = TaskInput([], [self.part])
        self.used: list[int] = []
        self._at = 0

    def read(self, count: int) -> None:
        """Read up to `count` records."""
        for offset in range(self._at, min(self._at + count, len(self.written))):
            forward(self.part, offset, *self.written[offset])
        self._at = min(self._at + count, len(self.written))
        if self._at == len(self.written):
            self.part.reach_end(self._at)
            for sender in self.part.senders.values():
                if sender.cut < 0:
                    sender.time = 10**6

    def use(self, most: int) -> None:
        """Process up to `most` records, then rewind to the first record that did not fit into a queue."""
        self.used += [message.offset() for stream in self.task.ready(most) for message in stream]
        before = self.position
        offset = self.part.rewind()
        assert self.position == before, "reading again does not change what is committed"
        if offset >= 0:
            self._at = offset

    @property
    def position(self) -> int:
        return self.task.ends[0][2]

    def left(self) -> list[int]:
        """Return the offsets of the records that a reader would process from the committed position."""
        skipped = {sender.sender: sender.next_offset for sender in self.task.senders}
        places = range(self.position, len(self.written))
        return [offset for offset in places if offset >= skipped[self.written[offset][0]]]

    def missing(self) -> list[int]:
        return sorted(set(range(len(self.written))) - set(self.used))


@pytest.fixture(autouse=True)
def small_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repartition_queue, "MOST_QUEUED", 8)


@pytest.mark.parametrize("seed", range(100))
def test_a_reader_that_restarts_sees_each_unused_record_once(seed: int) -> None:
    randomly = random.Random(seed)
    weights = [randomly.random() + 0.05 for _ in SENDERS]
    times = dict.fromkeys(SENDERS, 0)
    written = []
    for sender in randomly.choices(SENDERS, weights, k=COUNT):
        times[sender] += randomly.randint(0, 9)
        written.append((sender, times[sender]))
    backlog, position = Backlog(written), 0
    for _ in range(400):
        backlog.read(randomly.choice([0, 0, 1, 5, 20]))
        backlog.use(randomly.choice([1, 3, 50]))
        assert backlog.position >= position
        assert backlog.left() == backlog.missing()
        position = backlog.position
    assert sorted(backlog.used) == list(range(COUNT))


def test_a_sender_that_has_room_later_does_not_move_the_reader_past_another_s_records() -> None:
    first = [(A, time) for time in range(10)]
    backlog = Backlog([*first, *[(B, time) for time in range(2, 12)], (A, 90), (B, 90), (C, 90)])
    backlog.read(100)
    cut = []
    for _ in range(20):
        backlog.use(1)
        cut.append([backlog.part.senders[sender.encode()].cut for sender in (A, B)])
    # The reader rewinds to A's first cut record. B's queue has space again before the reader is at B's first one.
    assert [-1, 18] in cut
    assert cut[-1] == [-1, -1]
    assert backlog.part.next == 8
    assert backlog.left() == backlog.missing()


def test_a_position_committed_before_cut_records_are_read_again_precedes_them() -> None:
    backlog = Backlog([*[(A, time) for time in range(12)], (B, 10**9)])
    announce_time(backlog.part, 0, C, TaskTime(10**9))
    backlog.part.next = 0
    backlog.read(100)
    for _ in range(3):
        backlog.use(8)
    assert backlog.used == list(range(8))
    assert backlog.position == 8
