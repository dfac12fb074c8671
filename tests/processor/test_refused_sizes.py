"""A record whose rows, outputs or timers are too large for the broker goes to .errors before the transaction begins."""

from __future__ import annotations

import re

import pytest

from forebay.limits.room import FRAME_BYTES
from forebay.limits.topics import TaskLimits, TopicLimits
from forebay.processor import Context, Timer
from forebay.processor.messages import Headers
from forebay.testing import TestDriver
from tests.processor.batches import Batches, sent
from tests.runtime.task_records import CODECS, Number, Sum, Total
from user_sessions.model import UserActivity

SMALL = TaskLimits(
    outputs={"totals-out": TopicLimits("totals-out", max_bytes=1_000 + FRAME_BYTES)},
    stores={"totals": TopicLimits("sums-totals-changelog", max_bytes=2_000 + FRAME_BYTES)},
    internal=TopicLimits("sums-0-task", max_bytes=3_000 + FRAME_BYTES),
    errors=TopicLimits("sums.errors", max_bytes=5_000 + FRAME_BYTES),
    late=TopicLimits("sums.late", max_bytes=5_000 + FRAME_BYTES),
)


class Quiet(Sum):
    """Puts, forwards and sets a timer under keys of the lengths that the event id lists: `put-sent-timed`."""

    def process(self, event: Number, ctx: Context[Total]) -> None:
        put, sent, timed = (int(part) for part in event.event_id.split("-"))
        if put:
            self.totals.put("p" * put, Total(event.amount, 0))
        if sent:
            ctx.forward(Total(event.amount, 0), "s" * sent)
        if timed:
            ctx.schedule("idle", event.timestamp + 10, "t" * timed)


def driver() -> TestDriver:
    return TestDriver(Quiet(), CODECS, service="sums", limits=SMALL, dedupe_retention_ms=0)


VALUE = len(CODECS.stores["totals"].encode(Total(7, 0)))
PUT = 2_000 - VALUE - len(b"totals\0")
SENT = 1_000 - VALUE
SET = 3_000 - len("idle")

CASES: list[tuple[str, str, str]] = [
    (f"{PUT + 1}-1-1", "totals", r"a row of 2001 bytes is above the 2000 bytes that sums-totals-changelog takes"),
    (f"1-{SENT + 1}-1", "an output", r"of 1001 bytes is above the 1000 bytes that totals-out takes"),
    (f"1-1-{SET + 1}", "the timer", r"'idle' of 3001 bytes is above the 3000 bytes that sums-0-task takes"),
]


@pytest.mark.parametrize(("sizes", "what", "reason"), CASES)
def test_the_record_goes_to_errors_with_size_and_limit_and_the_next_is_used(sizes: str, what: str, reason: str) -> None:
    sums = driver()
    assert sums.pipe("a", Number(sizes, 5, 7)) == []
    (error,) = sums.errors
    assert error.headers["error.stage"] == "encode"
    assert what in error.headers["error.message"]
    assert re.search(reason, error.headers["error.message"])
    assert error.headers["error.message"].count("store totals, key") == (what == "totals")
    assert (sums.store("totals"), sums.timers()) == ({}, 0)
    assert len(sums.pipe("a", Number("1-1-1", 6, 7))) == 1


@pytest.mark.parametrize("sizes", [f"{PUT}-0-0", f"0-{SENT}-0", f"0-0-{SET}"])
def test_the_largest_allowed_value_is_accepted(sizes: str) -> None:
    sums = driver()
    sums.pipe("a", Number(sizes, 5, 7))
    assert sums.errors == []


def test_in_a_batch_only_the_record_that_put_too_much_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    task = Batches(Quiet(), limits=SMALL, dedupe_retention_ms=0)
    result = task.run(*(sent("a", Number(sizes, 5, 7)) for sizes in ("1-0-0", f"{PUT + 1}-0-0", "2-0-0")))
    assert len(result.errors) == 1
    assert set(task.totals()) == {"p", "pp"}
    assert caplog.text.count("store totals, key") == 1


class Growing(Sum):
    """Forwards under a key of 2,000 bytes when its timer fires."""

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        ctx.forward(Total(1, 1), "k" * 2_000)


def test_a_timer_whose_output_is_too_large_is_reported() -> None:
    sums = TestDriver(Growing(), CODECS, service="sums", limits=SMALL)
    sums.pipe("a", Number("e", 5, 7))
    assert sums.advance_wall_time(5_000) == []
    assert "totals-out takes" in sums.errors[0].headers["error.message"]


REFUSED: list[tuple[str, bytes, bytes, Headers, tuple[int, int, int], set[str]]] = [
    ("a large value", b"a", b"v" * 6_000, [("h", b"1")], (1, 0, 1), {"value"}),
    ("a large key", b"k" * 6_000, b"v", [("h", b"1")], (0, 1, 1), {"key"}),
    ("large headers", b"a", b"v", [("h", b"1" * 6_000)], (1, 1, 0), {"headers"}),
    ("a large value and key", b"k" * 6_000, b"v" * 7_000, [("h", b"1")], (0, 0, 1), {"key", "value"}),
    ("all of it", b"k" * 6_000, b"v" * 7_000, [("h", b"1" * 6_500)], (0, 0, 0), {"key", "value", "headers"}),
]


@pytest.mark.parametrize(("key", "value", "headers", "kept", "said"), [case[1:] for case in REFUSED])
def test_an_error_record_that_is_too_large_is_shortened_with_a_note(
    key: bytes, value: bytes, headers: Headers, kept: tuple[int, int, int], said: set[str]
) -> None:
    sums = driver()
    sums.pipe_bytes(key, value, 77, headers=headers)
    (error,) = sums.errors
    assert (error.key is not None, error.value is not None, "h" in error.headers) == tuple(map(bool, kept))
    shortened = error.headers["error.shortened"]
    assert {part for part in ("key", "value", "headers") if f"{part} (" in shortened} == said
    assert "above the 5000 bytes that sums.errors takes" in shortened
    assert (error.headers["error.topic"], error.headers["error.offset"]) == ("numbers", "0")
    size = len(error.key or b"") + len(error.value or b"") + sum(len(k) + len(v) for k, v in error.headers.items())
    assert size <= 5_000


def test_a_late_record_that_is_too_large_is_shortened_and_names_its_offset() -> None:
    class Late(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            ctx.late(5)

    sums = TestDriver(Late(), CODECS, service="sums", limits=SMALL)
    sums.pipe_bytes(b"a", b'["' + b"e" * 6_000 + b'", 5, 7]')
    (late,) = sums.late
    assert (late.key, late.value, late.headers["late.by_ms"]) == (b"a", None, "5")
    assert (late.headers["late.topic"], late.headers["late.partition"], late.headers["late.offset"]) == (
        "numbers",
        "0",
        "0",
    )


def test_the_length_of_error_messages_is_bounded() -> None:
    sums = driver()
    sums.pipe_bytes(b"a", b"no number but " + b"x" * 4_000)
    assert len(sums.errors[0].headers["error.message"]) < 2_100


def test_a_session_that_outgrows_its_changelog_is_refused_and_others_continue() -> None:
    """21 events with pages of 90 kB for one user led to a row above 2 MiB, which could never be committed."""
    sessions = TestDriver("user-sessions")

    def activity(number: int, page: str) -> UserActivity:
        return UserActivity(f"e{number}", None, "view", "s", 1, 1_000 + number, page)

    for number in range(21):
        sessions.pipe("ann", activity(number, str(number) * 90_000))
    sessions.pipe("bob", activity(30, "/home"))
    assert 0 < len(sessions.errors) < 21
    assert {error.headers["error.stage"] for error in sessions.errors} == {"encode"}
    assert all("takes (max.message.bytes=" in error.headers["error.message"] for error in sessions.errors)
    assert sessions.outputs[-1].key == "bob"
