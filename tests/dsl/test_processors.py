"""Processors in a topology can use stores, timers and record metadata, change keys, and choose their outputs."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.builder import Topology, TopologyError
from forebay.processor import Context, Processor, Timer
from forebay.stores import KeyValueStore
from tests.dsl.driving import Driven


class Latest(Processor[str, str]):
    """Forwards the previous value. A timer per key forwards the current value 10 ms later."""

    def __init__(self, store: str = "latest") -> None:
        self.words = KeyValueStore(store, str)

    def process(self, event: str, ctx: Context[str]) -> None:
        before = self.words.get(ctx.key)
        self.words.put(ctx.key, event)
        ctx.schedule("later", ctx.timestamp + 10)
        ctx.forward(f"{before}->{event} at {ctx.topic}@{ctx.offset}")

    def on_delete(self, topic: str, ctx: Context[str]) -> None:
        self.words.delete(ctx.key)
        ctx.forward(None)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(f"{timer.name}: {self.words.get(ctx.key)}")


def test_processor_keeps_state_forwards_records_and_sets_timers() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str).process_values(Latest, str, name="latest")
        words.map_values(lambda _, v: v.upper(), str).to("out")

    run = Driven(build)
    assert run.feed("in", ("k", "a", 1), ("k", "b", 2), ("k", None, 3)) == [
        ("k", "NONE->A AT IN@0", 1),
        ("k", "A->B AT IN@1", 2),
        ("k", None, 3),
    ]
    run.pipe("in", "k", "c", 4)
    run.driver.restart()
    assert run.idle(10) == [("k", "LATER: C", 14)]


def test_two_processors_have_separate_timers() -> None:
    def build(t: Topology) -> None:
        words = t.stream("in", str)
        words.process_values(lambda: Latest("one"), str, name="one").to("a")
        words.process_values(lambda: Latest("two"), str, name="two").to("b")

    run = Driven(build)
    run.pipe("in", "k", "x", 0)
    run.idle(10)
    assert [run.by_topic(topic)[-1] for topic in "ab"] == [("k", "later: x", 10)] * 2


def test_a_record_without_value_needs_on_delete() -> None:
    run = Driven(lambda t: t.stream("in", str).process(Swap, int, key=str, name="swap").to("out"))
    run.driver.pipe("k", None, "in")
    assert run.driver.errors[0].headers["error.message"] == (
        "process swap: a record without value reached Swap, which has no on_delete(): define it, put drop_nulls() "
        "before, or read the stream with nulls=False"
    )


class Swap(Processor[str, int]):
    def process(self, event: str, ctx: Context[int]) -> None:
        forward: Any = ctx.forward
        forward(ctx.key, key=event, timestamp=ctx.timestamp + 1)


def test_process_may_change_keys_of_any_format_and_what_follows_is_repartitioned() -> None:
    def build(t: Topology) -> None:
        numbers = t.stream("in", str, key=int).process(Swap, int, key=str, name="swap")
        numbers.to("swapped")
        numbers.group_by_key().count(store="n").to_stream().to("counts")

    run = Driven(build, tasks=3)
    run.feed("in", (5, "a", 1), (6, "a", 2))
    assert run.by_topic("swapped") == [("a", 5, 2), ("a", 6, 3)]
    assert run.by_topic("counts") == [("a", 1, 2), ("a", 2, 3)]


class Sorted(Processor[int, Any]):
    def process(self, event: int, ctx: Context[Any]) -> None:
        ctx.forward(event, to="numbers")
        ctx.forward(str(event), to="texts" if event < 10 else "nowhere")


def test_a_processor_chooses_among_named_children() -> None:
    def build(t: Topology) -> None:
        ways = t.stream("in", int).process(Sorted, {"numbers": int, "texts": str}, name="sorted")
        ways["numbers"].map_values(lambda _, n: n + 1, int).to("numbers")
        ways["texts"].map_values(lambda _, text: text * 2, str).to("texts")

    run = Driven(build)
    run.pipe("in", "k", 7, 1)
    assert (run.by_topic("numbers"), run.by_topic("texts")) == ([("k", 8, 1)], [("k", "77", 1)])
    run.driver.pipe("k", 11, "in")
    reason = run.driver.errors[0].headers["error.message"]
    assert reason == "there is no target 'nowhere': forward to one of numbers, texts"
    assert len(run.by_topic("numbers")) == 1, "its earlier outputs are rolled back"


def test_process_values_keeps_the_key() -> None:
    run = Driven(lambda t: t.stream("in", str).process_values(Swap, int, name="swap").to("out"))
    run.driver.pipe("k", "v", "in")
    assert "process_values() can't change the key" in run.driver.errors[0].headers["error.message"]


def test_a_store_name_used_twice_is_refused_naming_both_lines() -> None:
    t = Topology()
    words = t.stream("in", str)
    words.process_values(Latest, str, name="one")
    with pytest.raises(TopologyError, match=r"test_processors.py:\d+: store latest: the name is used at test_proc"):
        words.process_values(Latest, str, name="two")
