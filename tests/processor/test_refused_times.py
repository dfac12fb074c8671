"""A record goes to .errors if a timestamp of its outputs would be rejected by the broker or can't be encoded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from forebay.limits.topics import TaskLimits, TopicLimits
from forebay.processor import Context, LateRecord, Timer
from forebay.processor.batch import BatchResult
from forebay.processor.codecs import Codecs
from forebay.stores import TimestampedKeyValueStore
from forebay.testing.shown import PipedRecord
from tests.processor.batches import Batches, sent
from tests.runtime.task_records import CODECS, Number, Sum, Total

CLOCK, HOUR = 1_700_000_000_000, 3_600_000
KAFKAS_DEFAULT = {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(HOUR)}


def limits(**more: str) -> TaskLimits:
    def of(topic: str) -> TopicLimits:
        return TopicLimits.of(
            topic, {**KAFKAS_DEFAULT, **{name.replace("_", "."): text for name, text in more.items()}}
        )

    return TaskLimits({"totals-out": of("totals-out")}, {"totals": of("log")}, of("task"), of("errors"), of("late"))


class At(Sum):
    """Forwards at CLOCK + the amount, or at the time of its event id in `times`. The amount 13 is late."""

    def __init__(self, **times: Any) -> None:
        self.times = times

    def process(self, event: Number, ctx: Context[Total]) -> None:
        if event.amount == 13:
            raise LateRecord(1)
        ctx.forward(Total(1, 1), timestamp=self.times.get(event.event_id, CLOCK + event.amount))


def run(processor: Sum, *records: PipedRecord, codecs: Codecs = CODECS, **settings: Any) -> BatchResult:
    return Batches(processor, codecs, CLOCK, **{"limits": limits(), **settings}).run(*records)


def event(amount: int, name: str = "e", at: int = CLOCK, sent_at: int = CLOCK) -> PipedRecord:
    """Return an event whose key and id are its name."""
    return PipedRecord("numbers", 0, name.encode(), f'["{name}", {at}, {amount}]'.encode(), sent_at, [])


def reason(result: BatchResult) -> str:
    (error,) = result.errors
    return (dict(error.headers)["error.message"] or b"").decode()


def test_an_output_further_ahead_than_its_topic_takes_goes_to_errors() -> None:
    result = run(At(), event(HOUR, "just"), event(HOUR + 1, "beyond"), event(5, "next"))
    assert [output.timestamp for output in result.outputs] == [CLOCK + HOUR, CLOCK + 5]
    assert reason(result) == (
        f"an output to totals-out (key of 6 bytes): the timestamp {CLOCK + HOUR + 1} lies 1 ms further in the future "
        f"than totals-out takes (message.timestamp.after.max.ms={HOUR})"
    )


def test_an_output_older_than_its_topic_takes_goes_to_errors() -> None:
    result = run(At(), event(-1_001), event(-1_000, "e2"), limits=limits(message_timestamp_before_max_ms="1000"))
    assert len(result.outputs) == 1
    assert "is older than totals-out takes (message.timestamp.before.max.ms=1000)" in reason(result)


def test_a_topic_that_takes_the_brokers_time_takes_any() -> None:
    assert run(At(), event(2 * HOUR), limits=limits(message_timestamp_type="LogAppendTime")).errors == []


@pytest.mark.parametrize(
    ("at", "said"),
    [(0, "can't be written: Kafka's client takes 0 for none"), (-1, "-1 is negative"), (1.5, "1.5 is float")],
)
def test_a_time_that_can_not_be_written_goes_to_errors(at: Any, said: str) -> None:
    result = run(At(odd=at), event(1, "odd"), event(1, "next"))
    assert said in reason(result)
    assert len(result.outputs) == 1


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (CLOCK + HOUR + 1, f"lies 1 ms beyond what the job's changelogs take (message.timestamp.after.max.ms={HOUR})"),
        (CLOCK - 2_001, "lies 1 ms before what the job's changelogs take (message.timestamp.before.max.ms=2000)"),
    ],
)
def test_an_event_time_that_the_changelogs_do_not_take_goes_to_errors(at: int, said: str) -> None:
    bounds = limits(message_timestamp_before_max_ms="2000")
    result = run(At(), event(0, "e1", at), event(0, "e2"), limits=bounds, max_future_ms=9 * HOUR)
    assert reason(result) == f"event time {at} {said}"
    assert len(result.outputs) == 1


class Stamping(Sum):
    stamped = TimestampedKeyValueStore("stamped", Total)

    def process(self, event: Number, ctx: Context[Total]) -> None:
        self.stamped.put(ctx.key, Total(1, 1), event.amount)


@pytest.mark.parametrize(("at", "said"), [(0, "takes 0 for none"), (CLOCK + HOUR + 1, "log takes")])
def test_a_row_whose_own_time_can_not_be_written_goes_to_errors(at: int, said: str) -> None:
    codecs = replace(CODECS, stores={"totals": CODECS.stores["totals"], "stamped": CODECS.stores["totals"]})
    retained = replace(limits(), stores={"stamped": limits().stores["totals"]})
    result = Batches(Stamping(), codecs, CLOCK, limits=retained).run(event(at, "odd"), event(CLOCK, "next"))
    assert said in reason(result)
    assert [key for key, value in result.changes if key.startswith(b"stamped")] == [b"stamped\0next"]


@pytest.mark.parametrize("amount", [13, -1])
@pytest.mark.parametrize("sent_at", [0, CLOCK + HOUR + 1])
def test_an_error_or_late_record_gets_the_current_time_if_its_timestamp_is_not_accepted(
    amount: int, sent_at: int
) -> None:
    result = run(At(e=0), event(amount, sent_at=sent_at))
    (record,) = result.errors + result.late
    headers = dict(record.headers)
    assert record.timestamp == CLOCK
    assert headers.get("error.timestamp", headers.get("late.timestamp")) == str(sent_at).encode()


class Timed(Sum):
    def process(self, event: Number, ctx: Context[Total]) -> None:
        ctx.schedule("idle", {"float": 0.5, "large": 1 << 70}.get(event.event_id, CLOCK))  # type: ignore[arg-type]

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        raise AssertionError


@pytest.mark.parametrize("name", ["float", "large"])
def test_a_timer_whose_time_can_not_be_written_goes_to_errors(name: str) -> None:
    result = Batches(Timed()).run(sent("a", Number(name, 1, 1)), sent("a", Number("next", 2, 1)))
    assert len(result.errors) == 1
