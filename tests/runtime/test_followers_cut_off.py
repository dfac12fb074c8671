"""A follower that was cut off for longer than changelogs keep deletes starts over, because it may have missed some."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import IsolationLevel

from forebay.codec import Unavailable
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription
from forebay.runtime.broker import tombstones
from forebay.runtime.broker.tombstones import TombstoneWatch, kept_seconds
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.maintenance.follower import ChangelogsAnew, FollowedTask, Follower, Offsets
from forebay.testing.shown import PipedRecord

DAY = 86_400.0


class Clocks:
    """A wall clock and a monotonic clock. Only the wall clock advances while a machine sleeps."""

    def __init__(self) -> None:
        self.wall = self.monotonic = 1_000.0

    def passes(self, seconds: float) -> None:
        self.wall += seconds
        self.monotonic += seconds

    def watch(self, kept: float = DAY) -> TombstoneWatch:
        return TombstoneWatch(kept, (lambda: self.wall, lambda: self.monotonic))


class Task(FollowedTask):
    """Counts its rounds."""

    rounds = 0

    def batches_end(self, ends: Offsets) -> int:
        self.rounds += 1
        return self.rounds

    @property
    def row_count(self) -> int:
        return 0


class Quiet(Follower):
    """A follower of changelogs without new records. Each read takes `reading` seconds."""

    def __init__(self, clocks: Clocks) -> None:
        self.task = Task(ChangelogRows({}, "app-0-task"))
        self.is_away, self.reading, self.clocks = False, 0.0, clocks
        consumer: Any = type("Consumer", (), {"assign": lambda *_: None})()
        super().__init__(consumer, consumer, [(0, self.task)], clocks.watch())

    def _ends(self, places: Iterable[tuple[str, int]], isolation: IsolationLevel) -> dict[tuple[str, int], int]:
        if self.is_away:
            raise Unavailable("no broker")
        return dict.fromkeys(places, 7)

    def _read_to(self, ends: object, stop: threading.Event) -> None:
        self.clocks.passes(self.reading)

    def round(self) -> int:
        return self.catch_up(threading.Event())


def test_a_follower_resumes_after_an_outage_shorter_than_the_delete_retention() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    assert follower.round() == 1
    follower.is_away = True
    for _ in range(23):
        clocks.passes(3_600)
        with pytest.raises(Unavailable, match="no broker"):
            follower.round()
    follower.is_away = False
    assert follower.round() == 2


def test_a_longer_absence_starts_over() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    follower.round()
    clocks.passes(DAY + 1)
    with pytest.raises(ChangelogsAnew, match=r"not read for 86401 s, longer than they keep deletes \(delete.retention"):
        follower.round()
    assert follower.task.rounds == 1


def test_a_follower_starts_over_after_its_machine_was_suspended() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    follower.round()
    clocks.wall += DAY + 1
    with pytest.raises(ChangelogsAnew):
        follower.round()


def test_a_clock_that_was_set_back_hides_no_outage() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    follower.round()
    clocks.passes(DAY + 1)
    clocks.wall -= 2 * DAY
    with pytest.raises(ChangelogsAnew):
        follower.round()


def test_the_duration_of_a_read_counts_as_part_of_the_absence() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    follower.round()
    clocks.passes(DAY - 60)
    follower.reading = 120.0
    with pytest.raises(ChangelogsAnew):
        follower.round()


def test_the_first_read_has_no_time_limit() -> None:
    clocks = Clocks()
    follower = Quiet(clocks)
    follower.reading = 2 * DAY
    assert follower.round() == 1


class Admin:
    """An admin client that returns the topics' configuration, or is not authorized to."""

    def __init__(self, kept: dict[str, str] | None) -> None:
        self._kept = kept

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        if self._kept is None:
            raise KafkaForbidden("not authorized")
        return {
            name: TopicDescription(name, "id", 1, 1, {"delete.retention.ms": self._kept[name]}, frozenset())
            for name in names
        }


@pytest.mark.parametrize(("kept", "seconds"), [({"a": "60000", "b": "5000"}, 5.0), (None, DAY)])
def test_the_shortest_delete_retention_counts_or_kafka_s_default_if_it_can_not_be_read(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kept: dict[str, str] | None, seconds: float
) -> None:
    monkeypatch.setattr(tombstones, "TopicAdmin", lambda *_: Admin(kept))
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1", schema_registry_url="http://127.0.0.1:1")
    with caplog.at_level(logging.INFO):
        assert kept_seconds(kafka, ["a", "b"]) == seconds
    assert len(caplog.messages) == (kept is None)


def deliver(record: PipedRecord) -> Any:
    """Return a record as a message of the client, without an error."""
    return SimpleNamespace(
        error=lambda: None,
        **{name: getattr(record, name) for name in ("topic", "partition", "offset", "key", "value", "timestamp")},
    )


class Gathering(Task):
    """Records the offsets of the records that it receives."""

    def __init__(self) -> None:
        super().__init__(ChangelogRows({}, "app-0-task"))
        self.taken: list[int] = []

    def take(self, topic: str, offset: int, key: bytes, value: bytes | None, timestamp: int) -> None:
        self.taken.append(offset)


def test_records_that_the_client_repeats_are_skipped() -> None:
    records = [PipedRecord("app-0-task", offset, b"k", b"v", 5, []) for offset in (0, 1, 2, 1, 2, 3)]
    consumer: Any = SimpleNamespace(assign=lambda _: None, consume=lambda *_: [deliver(r) for r in records])
    task = Gathering()
    Follower(consumer, consumer, [(0, task)], Clocks().watch())._read_to({("app-0-task", 0): 4}, threading.Event())
    assert task.taken == [0, 1, 2, 3]
