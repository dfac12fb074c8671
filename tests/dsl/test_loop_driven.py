"""The test driver runs a job's real loop, with its order, idle time, positions and restarts across repartitions."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology
from forebay.codec import Unavailable
from forebay.partitioner import partition_of
from forebay.processor import Context, Processor, Timer
from forebay.stores import KeyValueStore
from forebay.testing import TestDriver
from forebay.time import within

DELAY = 100


class Later(Processor[str, str]):
    """Forwards a key's last value 100 ms after each record."""

    store = KeyValueStore("later-kept", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        self.store.put(ctx.key, event)
        ctx.schedule("later", ctx.timestamp + DELAY)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(self.store.get(timer.key) or "", timestamp=timer.due)


class Again(Later):
    store = KeyValueStore("again-kept", str)


class Joined(Processor[str, str]):
    """Forwards all values of a key so far, in arrival order."""

    seen = KeyValueStore("seen", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        self.seen.put(ctx.key, (self.seen.get(ctx.key) or "") + event)
        ctx.forward(self.seen.get(ctx.key) or "")


class Away(Joined):
    """Needs a resource that is unavailable while `is_away` is set."""

    is_away = False

    def process(self, event: str, ctx: Context[str]) -> None:
        if Away.is_away:
            raise Unavailable("it is away")
        super().process(event, ctx)


def gather(processor: type[Joined]) -> Topology:
    """Return a topology that repartitions the records of two topics under one key."""
    t = Topology()
    both = t.stream("one", str).merge(t.stream("two", str))
    moved = both.select_key(lambda _, value: "all", str).repartition("moved")
    moved.process(processor, str, name="joined").to("out")
    return t


def chain() -> Topology:
    t = Topology()
    first = t.stream("in", str).process(Later, str, name="first")
    second = first.select_key(lambda _, value: value, str).repartition("between")
    second.process(Again, str, name="second").to("out")
    return t


def values(sent: list[Any]) -> list[str]:
    return [entry.value for entry in sent]


@pytest.mark.parametrize(("tasks", "partitions"), [(1, 1), (1, 4), (3, 3), (3, 6)])
def test_records_that_are_there_at_once_are_merged_by_time_through_a_repartition(tasks: int, partitions: int) -> None:
    driver = TestDriver(gather(Joined), tasks=tasks, partitions=partitions)
    letters = "abcdefghijkl"
    records = [(("one", "two")[at % 2], f"key-{at}", letter, at) for at, letter in enumerate(letters)]
    by_topic = [*records[1::2], *records[::2]]
    assert values(driver.pipe_all(by_topic))[-1] == letters
    assert driver.store("seen") == {"all": letters}


def test_a_task_behind_a_repartition_is_idle_since_its_own_last_record() -> None:
    driver = TestDriver(chain(), tasks=2)
    driver.pipe("k", "v", timestamp=0)
    assert driver.advance_wall_time(DELAY) == []
    assert driver.timers() == 1, "the first timer has fired, the second is set now"
    assert driver.advance_wall_time(DELAY - 1) == []
    assert values(driver.advance_wall_time(1)) == ["v"]


def test_a_record_of_one_task_does_not_wake_another() -> None:
    t = Topology()
    t.stream("in", str).process(Later, str, name="later").to("out")
    driver = TestDriver(t, tasks=2)
    keys = {partition_of(key.encode(), 2): key for key in "abcdef"}
    one, other = keys[0], keys[1]
    driver.pipe(one, "one", timestamp=0)
    driver.advance_wall_time(DELAY // 2)
    driver.pipe(other, "other", timestamp=0)
    assert values(driver.advance_wall_time(DELAY // 2)) == ["one"]
    assert values(driver.advance_wall_time(DELAY // 2)) == ["other"]


def test_records_waiting_in_a_repartition_topic_are_used_after_a_restart() -> None:
    driver = TestDriver(gather(Away), tasks=2)
    driver.pipe("k", "a", "one", 1)
    Away.is_away = True
    try:
        with pytest.raises(Unavailable, match="it is away"):
            driver.pipe("k", "b", "two", 2)
        with pytest.raises(Unavailable, match="it is away"):
            driver.restart()
    finally:
        Away.is_away = False
    driver.restart()
    assert values(driver.outputs) == ["a", "ab"]
    assert values(driver.pipe("k", "c", "one", 3)) == ["abc"]


def test_record_is_processed_again_after_a_transient_failure() -> None:
    t = Topology()
    t.stream("in", str).process(Away, str, name="joined").to("out")
    driver, Away.is_away = TestDriver(t), True
    try:
        with pytest.raises(Unavailable):
            driver.pipe("k", "a", timestamp=1)
    finally:
        Away.is_away = False
    assert values(driver.pipe("k", "b", timestamp=2)) == ["a", "ab"]


class Closing(Later):
    """Like Later, but its timer fails while the resource is unavailable."""

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        if Away.is_away:
            raise Unavailable("it is away")
        super().on_timer(timer, ctx)


def test_uncommitted_window_close_is_repeated() -> None:
    t = Topology()
    t.stream("in", str).process(Closing, str, name="later").to("out")
    driver = TestDriver(t)
    driver.pipe("k", "v", timestamp=0)
    Away.is_away = True
    try:
        with pytest.raises(Unavailable, match="it is away"):
            driver.advance_stream_time(DELAY)
    finally:
        Away.is_away = False
    assert driver.timers() == 1
    assert values(driver.advance_stream_time(DELAY)) == ["v"]


class Forgetful(Processor[str, str]):
    """Counts in memory, so a restart loses the count."""

    def __init__(self) -> None:
        self.count = 0

    def process(self, event: str, ctx: Context[str]) -> None:
        self.count += 1
        ctx.forward(str(self.count))


def test_restart_preserves_only_stores() -> None:
    t = Topology()
    t.stream("in", str).process(Forgetful, str, name="forgetful").to("out")
    driver = TestDriver(t)
    assert values(driver.pipe("k", "v")) == ["1"]
    assert values(driver.pipe("k", "v")) == ["2"]
    driver.restart()
    assert values(driver.pipe("k", "v")) == ["1"]


def test_a_join_behind_a_repartition_survives_a_restart_with_all_times() -> None:
    t = Topology()
    left = t.stream("one", str).select_key(lambda _, value: value, str)
    right = t.stream("two", str).select_key(lambda _, value: value, str)
    left.outer_join(right, lambda a, b: f"{a}-{b}", str, windows=within(10), store="j").to("out")
    driver = TestDriver(t, tasks=3)
    driver.pipe("k", "v", "one", 5)
    driver.restart()
    assert values(driver.pipe("other", "v", "two", 15)) == ["v-v"]
    driver.pipe("k", "w", "one", 16)
    driver.restart()
    assert values(driver.advance_stream_time(27)) == ["w-None"]


def test_a_record_s_failure_is_reported_as_in_a_job() -> None:
    class Broken(Joined):
        def process(self, event: str, ctx: Context[str]) -> None:
            raise ValueError(event)

    driver = TestDriver(gather(Broken), tasks=2)
    for at in range(3):
        driver.pipe("k", "v", "one", at)
    places = [(error.headers["error.topic"], error.headers["error.partition"]) for error in driver.errors]
    assert len(set(places)) == 1
    assert places[0][0] == "driven-moved-repartition"
    assert int(driver.errors[-1].headers["error.offset"]) > int(driver.errors[0].headers["error.offset"]) > 0
