"""Forwarding, timers and late records: targets, timestamps, tombstones, and closing windows while input is idle."""

from __future__ import annotations

import pytest

from forebay.processor import NO_KEY, Context, IdleClose, Processor, RejectedRecord, Timer
from forebay.processor.codecs import Codecs
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.stores import KeyValueStore
from forebay.stores.memory import MemoryTable
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, TOPIC, JsonCodec, Number, Record, Total

TWO = Codecs({TOPIC: JsonCodec(Number)}, {}, {"first": JsonCodec(Total), "second": JsonCodec(Total)})


class Script(Processor[Number, Total]):
    """Performs the action that the record's key names."""

    def event_id(self, event: Number) -> None:
        return None

    def process(self, event: Number, ctx: Context[Total]) -> None:
        match ctx.key:
            case "both":
                ctx.forward(Total(1, 1))
                ctx.forward(Total(2, 2), "other", 7, "second")
            case "tombstone":
                ctx.forward(None)
            case "nowhere":
                ctx.forward(Total(1, 1), to="third")
            case "partly late":
                ctx.late(30)
                ctx.forward(Total(3, 3))
            case "late, then refused":
                ctx.late(30)
                raise RejectedRecord("no")
            case "timer":
                ctx.schedule("wake", event.timestamp + 10, NO_KEY)

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        ctx.forward(Total(timer.due, ctx.closing_time), f"<{timer.key}>")


def driver() -> TestDriver:
    return TestDriver(Script(), TWO)


def test_a_record_can_go_to_each_output_with_key_and_timestamp_of_its_own() -> None:
    outputs = driver().pipe("both", Number("e", 100, 0))
    assert [(o.topic, o.key, o.timestamp) for o in outputs] == [("first", "both", 100), ("second", "other", 7)]


def test_none_is_a_tombstone() -> None:
    (output,) = driver().pipe("tombstone", Number("e", 100, 0))
    assert output.key == "tombstone"
    assert output.value is None


def test_an_unknown_target_is_an_error_that_lists_the_known_targets() -> None:
    driven = driver()
    driven.pipe("nowhere", Number("e", 100, 0))
    assert "'third'" in driven.errors[0].headers["error.message"]
    assert "first, second" in driven.errors[0].headers["error.message"]


def test_a_record_can_be_late_in_part() -> None:
    driven = driver()
    assert driven.pipe("partly late", Number("e", 100, 0))
    assert driven.late[0].headers == {"late.by_ms": "30", "late.stream_time": "100"}
    driven.pipe("both", Number("f", 100, 0))
    assert len(driven.late) == 1


def test_a_refused_record_is_not_late_as_well() -> None:
    driven = driver()
    driven.pipe("late, then refused", Number("e", 100, 0))
    driven.pipe("both", Number("f", 100, 0))
    assert (len(driven.errors), driven.late) == (1, [])


def test_a_timer_of_the_task_has_no_key() -> None:
    driven = driver()
    driven.pipe("timer", Number("e", 100, 0))
    outputs = driven.pipe("nothing", Number("f", 110, 0))
    assert [(o.key, o.value.amount) for o in outputs] == [("<None>", 110)]


def test_what_the_next_sub_topology_reads_does_not_go_to_a_topic() -> None:
    codecs = Codecs(TWO.inputs, {}, TWO.outputs, repartitions={"next": JsonCodec(Total)})
    engine = TaskEngine(Script(), codecs, MemoryTable(), EngineSettings(service="script"))
    value = TWO.inputs[TOPIC].encode(Number("e", 5, 0))
    engine.run([[Record(0, b"both", value)]], clock=10)
    result = engine.finish(1)
    assert [output.target for output in result.onward] == ["next"]
    assert [output.target for output in result.outputs] == ["second"]


class Open(Script):
    idle = IdleClose(after_ms=1_000, horizon_ms=60_000)


@pytest.mark.parametrize(("idle_ms", "closing_time"), [(999, 1_099), (1_000, 60_100), (90_000, 90_100)])
def test_an_idle_task_closes_everything_open_after_its_timeout(idle_ms: int, closing_time: int) -> None:
    driven = TestDriver(Open(), TWO)
    driven.pipe("timer", Number("e", 100, 0))
    outputs = driven.advance_wall_time(idle_ms)
    assert [o.value.count for o in outputs] == [closing_time]


class Never(Script):
    idle = IdleClose(after_ms=0, horizon_ms=60_000)


@pytest.mark.parametrize("script", [Never, Script])
def test_without_a_timeout_an_idle_task_closes_as_the_clock_moves_and_never_ahead_of_it(script: type[Script]) -> None:
    driven = TestDriver(script(), TWO)
    driven.pipe("timer", Number("e", 100, 0))
    assert [o.value.count for o in driven.advance_wall_time(90_000)] == [90_100]


class Sized(Processor[Number, Total]):
    """Creates its store in the constructor, because settings may affect the store."""

    def __init__(self, name: str) -> None:
        self.kept = KeyValueStore(name, Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        self.kept.put(ctx.key, Total(event.amount, 1))


def test_a_store_made_in_the_constructor_is_bound() -> None:
    driven = TestDriver(Sized("totals"), CODECS)
    driven.pipe("k", Number("e", 1, 5))
    assert driven.store("totals") == {"k": Total(5, 1)}


class Twice(Sized):
    def __init__(self) -> None:
        super().__init__("totals")
        self.again = KeyValueStore("totals", Total)


def test_a_store_name_used_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="declares the store 'totals' twice"):
        TestDriver(Twice(), CODECS)
