"""A follower applies each commit as a whole, and never a position without its rows."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

from confluent_kafka import IsolationLevel

from forebay.runtime.broker.tombstones import TombstoneWatch
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.maintenance.follower import FollowedTask, Follower, Offsets

ROWS, POSITIONS = ("app-rows-changelog", 0), ("app-0-task", 0)


class Task(FollowedTask):
    """Records the end offsets up to which commits are complete."""

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
    """A follower whose last stable offsets (`stable`) and high watermarks (`written`) the test sets."""

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


class Stop(threading.Event):
    """A stop event that is set after `rounds` pauses. It records each pause without sleeping."""

    def __init__(self, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        if len(self.pauses) == self.rounds:
            self.set()
        return self.is_set()


def test_records_behind_a_transaction_are_polled_with_growing_intervals() -> None:
    broker = Broker()
    broker.written = {ROWS: 5, POSITIONS: 2}
    stop = Stop(6)
    broker.follow(stop, 0.1, lambda _batch, _rows: None)
    assert stop.pauses == [0.01, 0.02, 0.04, 0.08, 0.1, 0.1]


def test_the_pause_is_as_long_as_before_once_the_transaction_has_ended() -> None:
    broker = Broker()
    broker.written = {ROWS: 5, POSITIONS: 2}
    stop = Stop(4)

    def note(_batch: int, _rows: int) -> None:
        if len(stop.pauses) == 1:
            broker.stable = dict(broker.written)
        if len(stop.pauses) == 2:
            broker.written = {ROWS: 7, POSITIONS: 3}

    broker.follow(stop, 0.1, note)
    assert stop.pauses == [0.01, 0.02, 0.1, 0.01]
