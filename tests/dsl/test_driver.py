"""The test driver runs topologies and unregistered services, and processes outputs to the job's own input topics."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from forebay.builder import Topology
from forebay.catalog import Service, Topic
from forebay.formats import TEXT, no_contracts
from forebay.processor import Context, Processor, Timer
from forebay.processor.codecs import Codecs
from forebay.service.agreement import Disagreement
from forebay.stores import (
    KeyValueStore,
    ListValueStore,
    LruStore,
    SessionStore,
    TimestampedKeyValueStore,
    TtlKeyValueStore,
    VersionedKeyValueStore,
    WindowStore,
)
from forebay.stores.buffers import JoinBuffer, SuppressBuffer
from forebay.stores.values import Stamped
from forebay.testing import RecordFailed, TestDriver
from forebay.time import tumbling
from tests.dsl.driving import Driven


def counting() -> Topology:
    t = Topology()
    t.stream("in", str).group_by(lambda _, word: word, str).count(store="n").to_stream().to("out")
    return t


def test_driver_accepts_a_topology() -> None:
    driver = TestDriver(counting(), tasks=3)
    for key in "abc":
        driver.pipe(key, "word", timestamp=1)
    assert [(sent.key, sent.value) for sent in driver.outputs] == [("word", 1), ("word", 2), ("word", 3)]
    driver.restart()
    assert driver.store("n")["word"].value == 3


def test_driver_accepts_and_checks_an_unregistered_service(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("unregistered")
    module.JOB = Driven(lambda t: t.stream("in", str).to("out")).job  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "unregistered", module)
    entry = Service("unregistered", "", (Topic("in"),), (Topic("out"),), {}, "unregistered")
    assert [sent.value for sent in TestDriver(entry).pipe("k", "v")] == ["v"]
    with pytest.raises(Disagreement, match="inputs are"):
        TestDriver(Service("unregistered", "", (Topic("other"),), (Topic("out"),), {}, "unregistered"))


def through(t: Topology) -> None:
    t.stream("in", str).map_values(lambda _, v: v + "!", str).to("between")
    t.stream("between", str).select_key(lambda _, v: v, str).to("out")


def test_outputs_to_an_input_topic_are_read_again() -> None:
    run = Driven(through, tasks=2)
    assert run.pipe("in", "k", "a", 5) == [("k", "a!", 5), ("a!", "a!", 5)]


def test_endless_record_loop_is_detected() -> None:
    run = Driven(lambda t: t.stream("round", str).to("round"))
    with pytest.raises(RuntimeError, match="driven sends records to round for ever"):
        run.pipe("round", "k", "v", 1)


class Everything(Processor[str, str]):
    """Puts each record into a store of every type."""

    plain = KeyValueStore("plain", str)
    stamped = TimestampedKeyValueStore("stamped", str)
    versioned = VersionedKeyValueStore("versioned", str, history_retention_ms=100)
    listed = ListValueStore("listed", str)
    recent = LruStore("recent", str, 2)
    short = TtlKeyValueStore("short", str, 100)
    windows = WindowStore("windows", str, size_ms=10, retention_ms=100)
    sessions = SessionStore("sessions", str, retention_ms=100)
    waiting = JoinBuffer("waiting", str)
    held = SuppressBuffer("held", str)

    def process(self, event: str, ctx: Context[str]) -> None:
        key, at = ctx.key, ctx.timestamp
        for store in (self.plain, self.listed, self.recent, self.short):
            store.put(key, event)
        self.stamped.put(key, event, at)
        self.versioned.put(key, event, at)
        self.windows.put(key, event, at)
        self.sessions.put(key, at, at, event)
        self.waiting.append(at, key, event)
        self.held.put(at, key, None, event, at)
        ctx.schedule("end", at + 50)
        ctx.forward(f"{ctx.current_stream_time} {ctx.current_system_time}")

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        ctx.forward(f"end at {ctx.closing_time} {ctx.current_system_time}")


HELD = {
    "plain": {"a": "y", "b": "z"},
    "stamped": {"a": Stamped("y", 20), "b": Stamped("z", 30)},
    "versioned": {"a": (("x", 10), ("y", 20)), "b": (("z", 30),)},
    "listed": {"a": ("x", "y"), "b": ("z",)},
    "recent": {"a": "y", "b": "z"},
    "short": {"a": "y", "b": "z"},
    "windows": [("a", 10, "x", 10), ("a", 20, "y", 20), ("b", 30, "z", 30)],
    "sessions": [("a", 10, 10, "x"), ("a", 20, 20, "y"), ("b", 30, 30, "z")],
    "waiting": [(10, "a", "x"), (20, "a", "y"), (30, "b", "z")],
    "held": [("a", None, "y", 20), ("b", None, "z", 30)],
}


def everything() -> Topology:
    t = Topology()
    t.stream("in", str).process(Everything, str, name="everything").to("out")
    return t


@pytest.mark.parametrize("tasks", [1, 3])
def test_stores_of_every_kind_are_read(tasks: int) -> None:
    driver = TestDriver(everything(), tasks=tasks)
    for key, value, at in (("a", "x", 10), ("a", "y", 20), ("b", "z", 30)):
        driver.pipe(key, value, timestamp=at)
    for name, wanted in HELD.items():
        result = driver.store(name)
        assert (sorted(result, key=repr) if isinstance(result, list) else result) == wanted, name
    with pytest.raises(KeyError, match="driven has no store 'nothing': choose from held, listed"):
        driver.store("nothing")


def test_it_reports_its_own_clock_and_advances_both_times() -> None:
    driver = TestDriver(everything(), clock=5_000)
    assert [sent.value for sent in driver.pipe("a", "x", timestamp=10)] == ["10 5000"]
    assert driver.advance_wall_time(49) == []
    assert driver.timers() == 1
    assert [sent.value for sent in driver.advance_wall_time(1)] == ["end at 60 5050"]
    driver.pipe("b", "x", timestamp=100)
    assert driver.advance_stream_time(149) == []
    assert [sent.value for sent in driver.advance_stream_time(150)] == ["end at 150 5050"]


def test_a_stores_keys_are_those_of_its_table() -> None:
    t = Topology()
    numbers = t.stream("in", str, key=int).group_by_key()
    numbers.count(store="n").to_stream().to("out")
    numbers.windowed_by(tumbling(10)).count(store="w").to_stream().to("windows")
    driver = TestDriver(t, tasks=2)
    for key in (7, -7, 7):
        driver.pipe(key, "v", timestamp=1)
    assert {key: row.value for key, row in driver.store("n").items()} == {-7: 1, 7: 2}
    assert sorted((record.key, record.start, record.value) for record in driver.store("w")) == [(-7, 0, 1), (7, 0, 2)]


def test_a_processor_alone_is_driven_with_its_codecs() -> None:
    text = TEXT.codec(no_contracts)
    names = HELD.keys()
    driver = TestDriver(Reversed(), Codecs({"in": text}, dict.fromkeys(names, text), {"out": text}))
    assert [sent.value for sent in driver.pipe("k", "abc", timestamp=1)] == ["cba"]
    with pytest.raises(
        TypeError, match=("Reversed is a processor: pass codecs=, or pass the topology or job that contains it")
    ):
        TestDriver(Reversed())


def first_letters() -> Topology:
    t = Topology()
    t.stream("in", str).map_values(lambda _, v: v[0], str).to("out")
    return t


def test_raise_errors_raises_failed_records() -> None:
    driver = TestDriver(first_letters(), raise_errors=True)
    assert [sent.value for sent in driver.pipe("k", "abc")] == ["a"]
    with pytest.raises(
        RecordFailed, match=r"^in-0 offset 1, key 'k': IndexError: string index out of range \(process\)$"
    ):
        driver.pipe("k", "")
    assert len(driver.errors) == 1
    assert [sent.value for sent in driver.pipe("k", "b")] == ["b"]
    with pytest.raises(RecordFailed, match=r"^in-0 offset 3, .*; 1 more failed, see .errors of the driver"):
        driver.run_batch([("k", ""), ("j", ""), ("k", "c")])
    assert [sent.value for sent in driver.outputs] == ["a", "b", "c"]


def test_raise_errors_raises_failed_timers() -> None:
    t = Topology()
    t.stream("in", str).process(Alarm, str, name="alarm").to("out")
    driver = TestDriver(t, raise_errors=True)
    driver.pipe("k", "v", timestamp=1)
    with pytest.raises(RecordFailed, match=r"the timer process alarm: ring of key 'k': ValueError: too loud"):
        driver.advance_stream_time(20)


def test_failed_records_are_collected_by_default() -> None:
    driver = TestDriver(first_letters())
    assert driver.pipe("k", "") == []
    assert driver.errors[0].headers["error.class"] == "IndexError"


class Alarm(Processor[str, str]):
    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.schedule("ring", ctx.timestamp + 10)

    def on_timer(self, timer: Timer, ctx: Context[str]) -> None:
        raise ValueError("too loud")


class Reversed(Processor[str, str]):
    def timestamp(self, event: str) -> int:
        return len(event)

    def process(self, event: str, ctx: Context[str]) -> None:
        ctx.forward(event[::-1])


def test_the_name_that_sub_topologies_had_in_0_2_works_for_one_release() -> None:
    topology = Topology()
    topology.stream("in", str).to("out")
    driver = TestDriver(topology)
    assert driver.stages is driver.sub_topologies
