"""A replay sends a record of `.errors` again unchanged, or reports why it can't."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pytest

from forebay.limits.room import Room
from forebay.processor.messages import Headers
from forebay.processor.side_topics import error_record
from forebay.runtime.maintenance.failed_records import Again, Unfit, again, fits, reason_of

INPUTS = {"events": 4}


def _own() -> Headers:
    return [("trace", b"\xff\x00"), ("error.class", b"of another job")]


@dataclass
class Record:
    """A record as the client returns it."""

    key_: bytes | None = b"k"
    value_: bytes | None = b"v"
    headers_: Headers | None = field(default_factory=_own)
    topic_: str = "events"
    partition_: int = 3
    time: int = 1_700_000_000_000

    def key(self) -> bytes | None:
        return self.key_

    def value(self) -> bytes | None:
        return self.value_

    def headers(self) -> Headers | None:
        return self.headers_

    def topic(self) -> str:
        return self.topic_

    def partition(self) -> int:
        return self.partition_

    def offset(self) -> int:
        return 17

    def timestamp(self) -> tuple[int, int]:
        return 1, self.time


def failed_record(record: Record, error: str = "no field id", room: Room | None = None) -> Any:
    """Return the error record that a job writes, as a message of the client."""
    side = error_record(record, "service", "decode", ValueError(error), 5, room)
    return Record(side.key, side.value, side.headers, "service.errors", 0, side.timestamp)


@pytest.mark.parametrize(
    "record",
    [
        Record(),
        Record(None, None, None),
        Record(b"", b"", []),
        Record(b"\x00\xff", b"<b>", [("same", b"1"), ("same", None)]),
        Record(headers_=[("error.class", b"x"), ("error.topic", b"elsewhere")]),
    ],
)
def test_a_replay_preserves_key_value_headers_time_and_partition(record: Record) -> None:
    assert again(failed_record(record), INPUTS) == Again(
        "events", 3, record.key_, record.value_, record.time, record.headers_ or []
    )


def test_a_record_that_failed_twice_is_unchanged() -> None:
    twice = failed_record(failed_record(Record()))
    twice.headers_ = [(name, b"events" if name == "error.topic" else value) for name, value in twice.headers_]
    assert again(twice, INPUTS).headers[:2] == Record().headers_


def test_a_record_without_a_time_is_sent_without_one() -> None:
    assert again(failed_record(Record(time=-1)), INPUTS).timestamp is None


UNFIT = [
    (Record(topic_="app-x-repartition"), "after the repartition topic"),
    (Record(topic_="renamed"), "renamed, where it failed, is not an input of the job"),
    (Record(time=0), "its timestamp is 0"),
    (Record(partition_=9), "its partition 9 does not exist any more: events has 4 partitions"),
]


@pytest.mark.parametrize(("record", "why"), UNFIT)
def test_records_that_no_input_accepts_are_skipped(record: Record, why: str) -> None:
    with pytest.raises(Unfit, match=why):
        again(failed_record(record), INPUTS)


def test_records_that_the_job_did_not_write_are_skipped() -> None:
    with pytest.raises(Unfit, match="the job did not write it"):
        again(Record(headers_=[("trace", b"1")]), INPUTS)  # type: ignore[arg-type]


def test_the_failure_of_a_timer_is_not_replayed() -> None:
    timer = Record(None, None, [("error.class", b"E"), ("error.timer", b"t"), ("error.stage", b"process")])
    with pytest.raises(Unfit, match="a timer failed"):
        again(timer, INPUTS)  # type: ignore[arg-type]


def test_shortened_records_are_skipped() -> None:
    failure = failed_record(Record())
    failure.headers_ = [*failure.headers_, ("error.shortened", b"value (9 bytes) left out")]
    with pytest.raises(Unfit, match="parts of it were left out"):
        again(failure, INPUTS)


def test_reasons_that_differ_in_names_are_one() -> None:
    texts = {reason_of(failed_record(Record(), f"order order_{number} is unknown,\nof {number}")) for number in (1, 22)}
    assert texts == {"decode: ValueError: order … is unknown, of …"}


@pytest.mark.parametrize(
    ("value", "headers", "expected"),
    [
        (b"small", [], True),
        (random.Random(1).randbytes(2_000), [], False),
        (b"a" * 2_000, [], True),
        (None, [("trace", random.Random(1).randbytes(2_000))], False),
        (None, [("trace", None), ("text", b"t")], True),
    ],
)
def test_a_record_fits_if_it_fits_compressed(value: bytes | None, headers: Headers, expected: bool) -> None:
    assert fits(Again("events", 0, b"key", value, 1, headers), 1_000) is expected
