"""The driver's watcher compares topics after two equal looks in a row, and reports lag and missing permissions."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from forebay.runtime.driver.watch import Watcher
from forebay.runtime.errors import Unavailable
from forebay.runtime.task.pacing import Limits

INTERVAL = 30.0
ROUND = 2.0


@dataclass
class Scene:
    """A watcher of a job and a broker whose state the test sets."""

    topics: str | None = "a"
    looks: int = 0
    compared: list[str] = field(default_factory=list)
    failure: Exception | None = None
    ends: dict[str, tuple[int, ...]] = field(default_factory=lambda: {"in": (9, 7)})
    lag: dict[tuple[str, int], int] = field(default_factory=dict)
    trouble: str = ""
    reasons: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    now: float = 1_000.0

    def __post_init__(self) -> None:
        spec: Any = SimpleNamespace(
            application="app",
            tasks=2,
            kafka=None,
            matched={},
            limits=Limits(checkpoint_interval_ms=int(INTERVAL * 1_000)),
        )
        reported = SimpleNamespace(of=lambda topic, partition, tasks: 5 if partition == 0 else None)
        metrics: Any = SimpleNamespace(reported_lag=reported, observe_lag=self.lag.update)
        health: Any = SimpleNamespace(failing=self.reasons.append)
        planner: Any = SimpleNamespace(topics=self._describe, broker=SimpleNamespace(latest=lambda: self.ends))
        lag: Any = SimpleNamespace(read=lambda ends: {place: end - 1 for place, end in ends.items()})
        rights: Any = SimpleNamespace(
            trouble=lambda: self.trouble, refused_seconds=0.0, explain=lambda cause: f"explained: {cause}"
        )
        self.rights = rights
        self.watcher = Watcher(
            spec,
            metrics,
            health,
            rights,
            self.compared.append,
            end=self.ended.append,
            planner=planner,
            lag=lag,
            monotonic=lambda: self.now,
        )

    def pass_time(self, seconds: float) -> None:
        """Run the watcher's rounds for some time."""
        for _ in range(round(seconds / ROUND)):
            self.now += ROUND
            self.watcher.look()

    def _describe(self) -> str | None:
        self.looks += 1
        if self.failure is not None:
            raise self.failure
        return self.topics


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_topics_are_compared_once_an_interval(scene: Scene) -> None:
    scene.pass_time(INTERVAL - ROUND)
    assert scene.looks == 0
    scene.pass_time(3 * ROUND)
    assert (scene.looks, scene.compared) == (2, ["a"]), "the first look is confirmed by the next round"
    scene.pass_time(3 * INTERVAL)
    assert scene.compared == ["a"] * 4
    assert scene.looks == 5


def test_topics_that_have_changed_are_compared_in_the_next_round(scene: Scene) -> None:
    scene.pass_time(2 * INTERVAL)
    scene.compared.clear()
    scene.topics = "b"
    scene.pass_time(INTERVAL)
    assert scene.compared == ["b"]


@pytest.mark.parametrize("glitch", ["b", "", None])
def test_a_single_wrong_description_of_the_topics_has_no_effect(scene: Scene, glitch: str | None) -> None:
    scene.pass_time(2 * INTERVAL)
    scene.compared.clear()
    before = scene.looks
    scene.topics = glitch
    while scene.looks == before:
        scene.pass_time(ROUND)
    scene.topics = "a"
    scene.pass_time(INTERVAL + 3 * ROUND)
    assert set(scene.compared) == {"a"}


def test_polls_before_and_after_an_outage_do_not_count_as_consecutive(scene: Scene) -> None:
    scene.pass_time(2 * INTERVAL)
    scene.compared.clear()
    for topics in ("b", None, "b"):
        scene.topics, before = topics, scene.looks
        while scene.looks == before:
            scene.pass_time(ROUND)
    assert scene.compared == []
    scene.pass_time(ROUND)
    assert scene.compared == ["b"]


@pytest.mark.parametrize("failure", [Unavailable("away"), KafkaException(KafkaError(KafkaError._TRANSPORT)), OSError()])
def test_a_failed_poll_ends_neither_the_watcher_nor_the_leases(scene: Scene, failure: Exception) -> None:
    scene.failure = failure
    scene.pass_time(2 * INTERVAL)
    assert scene.compared == []
    scene.failure = None
    scene.pass_time(INTERVAL + 2 * ROUND)
    assert scene.compared == ["a"]
    assert scene.reasons == (["explained: away"] * 2 if isinstance(failure, Unavailable) else [])


def test_lag_that_tasks_do_not_report_comes_from_the_broker(scene: Scene) -> None:
    scene.pass_time(ROUND)
    assert scene.lag == {("in", 0): 5, ("in", 1): 6}


def test_a_missing_right_is_reported_and_a_refused_login_ends_the_job_once(scene: Scene) -> None:
    scene.trouble = "the login is refused"
    scene.pass_time(12.0)
    assert set(scene.reasons) == {"the login is refused"}
    assert scene.ended == []
    scene.rights.refused_seconds = 60.0
    scene.pass_time(60.0)
    assert scene.ended == ["the login is refused"]
