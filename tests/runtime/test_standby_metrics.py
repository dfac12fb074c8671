"""A standby reports how far its copies lag behind the changelogs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from confluent_kafka import IsolationLevel

from forebay.kafka.partition_ends import Place
from forebay.runtime.broker.tombstones import TombstoneWatch
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.maintenance.follower import FollowedTask, Follower, Offsets
from forebay.runtime.maintenance.standby_metrics import StandbyMetrics


class Task(FollowedTask):
    row_count = 7

    def batches_end(self, ends: Offsets) -> int:
        return 1


class Following(Follower):
    """A follower of one changelog and the internal one. The test sets the offsets that it has read up to."""

    def __init__(self) -> None:
        consumer: Any = type("Consumer", (), {"assign": lambda *_: None})()
        task = Task(ChangelogRows({"n": "app-n-changelog"}, "app-0-task"))
        super().__init__(consumer, consumer, [(0, task)], TombstoneWatch(86_400.0))

    def _ends(self, places: Iterable[Place], isolation: IsolationLevel) -> dict[Place, int]:
        return dict.fromkeys(places, 10)

    def _read_to(self, ends: Any, stop: Any) -> None:
        """Read nothing."""

    def reads(self, until: int) -> None:
        self._read = dict.fromkeys(self._known, until)


def test_the_lag_is_the_number_of_records_not_read_yet() -> None:
    metrics, follower = StandbyMetrics("user-sessions"), Following()
    metrics.follow(follower)

    def value(name: str) -> float | None:
        return metrics.registry.get_sample_value(f"forebay_standby_{name}", {"service": "user-sessions"})

    assert value("lag_records") == 0
    assert not metrics.health.ready().ok
    stop: Any = type("Event", (), {"is_set": lambda _: False})()
    follower.catch_up(stop)
    assert value("lag_records") == 20
    follower.reads(8)
    assert value("lag_records") == 4
    follower.reads(11)
    metrics.observe(7)
    assert (value("lag_records"), value("rows"), metrics.health.ready().ok) == (0, 7, True)
