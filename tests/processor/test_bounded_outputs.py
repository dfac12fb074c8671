"""The outputs of one record or timer are limited in number and bytes. A record that exceeds a limit goes to .errors."""

from __future__ import annotations

import pytest

from forebay.processor import Context, Timer
from forebay.processor.engine_settings import OUTPUT_BYTES
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Sum, Total

LIMIT = 100 * OUTPUT_BYTES


class Explodes(Sum):
    """Forwards as many times as the event's amount."""

    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        for _ in range(event.amount):
            ctx.forward(Total(event.amount, 1))

    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        while ctx.key == "endless":
            ctx.forward(Total(0, 0))


class Large(Sum):
    """Forwards twice, each time with a header of as many bytes as the event's amount."""

    def process(self, event: Number, ctx: Context[Total]) -> None:
        for _ in range(2):
            ctx.forward(Total(event.amount, 1), headers=[("h", b"x" * event.amount)])


def driver(processor: Sum) -> TestDriver:
    return TestDriver(processor, CODECS, service="sums", max_output_bytes=LIMIT)


def test_their_number_is_bounded() -> None:
    sums = driver(Explodes())
    assert len(sums.pipe("a", Number("e1", 1, 50))) == 51
    assert sums.pipe("a", Number("e2", 2, 100)) == []
    (error,) = sums.errors
    assert error.headers["error.stage"] == "encode"
    assert f"more than {LIMIT} bytes (max_output_bytes" in error.headers["error.message"]
    assert sums.pipe("a", Number("e3", 3, 1))[0].value == Total(51, 2), "its puts are rolled back"


def test_their_bytes_are_bounded() -> None:
    sums = driver(Large())
    assert len(sums.pipe("a", Number("e1", 1, LIMIT // 3))) == 2
    assert sums.pipe("a", Number("e2", 2, LIMIT // 2)) == []
    assert len(sums.errors) == 1


def test_those_of_a_timer_are_bounded() -> None:
    sums = driver(Explodes())
    sums.pipe("endless", Number("e1", 1, 1))
    sums.pipe("a", Number("e2", 5_000, 1))
    (error,) = sums.errors
    assert error.headers["error.timer"] == "idle"


@pytest.mark.long
def test_they_are_bounded_unless_a_limit_is_given() -> None:
    sums = TestDriver(Explodes(), CODECS, service="sums")
    assert sums.pipe("a", Number("e1", 1, 1 << 40)) == []
    assert len(sums.errors) == 1
