"""A batch is applied whole: never a position whose rows are not readable yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from confluent_kafka import IsolationLevel

from forebay.runtime.changelog import ChangelogRows
from forebay.runtime.follower import FollowedTask, Follower, Offsets
from forebay.runtime.tombstones import TombstoneWatch

ROWS, POSITIONS = ("app-rows-changelog", 0), ("app-0-task", 0)


class Task(FollowedTask):
    """Notes up to where it was told that batches end."""

    def __init__(self) -> None:
        super().__init__(ChangelogRows({"rows": ROWS[0]}, POSITIONS[0]))
        self.applied: list[Offsets] = []

    def batches_end(self, ends: Offsets) -> int:
        self.applied.append(ends)
        return len(self.applied)

    @property
    def row_count(self) -> int:
        return 0


class Broker(Follower):
    """A follower that is told where its partitions end: last stable offsets, and high watermarks."""

    def __init__(self) -> None:
        self.task = Task()
        self.stable = {ROWS: 0, POSITIONS: 0}
        self.written = dict(self.stable)
        consumer: Any = type("Consumer", (), {"assign": lambda *_: None})()
        super().__init__(consumer, consumer, [(0, self.task)], TombstoneWatch(86_400.0))

    def _ends(self, places: Iterable[tuple[str, int]], isolation: IsolationLevel) -> dict[tuple[str, int], int]:
        known = self.stable if isolation is IsolationLevel.READ_COMMITTED else self.written
        return {place: known[place] for place in places}

    def _read_to(self, ends: object, stop: threading.Event) -> None:
        return

    def round(self) -> list[Offsets]:
        self.task.applied.clear()
        self.catch_up(threading.Event())
        return self.task.applied


def test_a_position_waits_for_rows_whose_transaction_has_not_ended_in_their_partition() -> None:
    broker = Broker()
    broker.written = {ROWS: 5, POSITIONS: 2}
    broker.stable = {ROWS: 0, POSITIONS: 2}
    assert broker.round() == []
    broker.stable = {ROWS: 5, POSITIONS: 2}
    assert broker.round() == [{ROWS[0]: 5, POSITIONS[0]: 2}]


def test_rows_wait_for_their_position() -> None:
    broker = Broker()
    broker.written = {ROWS: 5, POSITIONS: 2}
    broker.stable = {ROWS: 5, POSITIONS: 0}
    assert broker.round() == []
