"""How the engine processes records, tested with the test driver."""

from __future__ import annotations

from dataclasses import replace

import pytest

from forebay.processor import Context, LateRecord, Processor, RejectedRecord, Timer
from forebay.processor.engine_settings import Emit
from forebay.stores import KeyValueStore
from forebay.testing import TestDriver
from tests.runtime.task_records import CODECS, Number, Sum, Total


def driver(processor: Processor[Number, Total] | None = None, **settings: object) -> TestDriver:
    return TestDriver(processor or Sum(), CODECS, service="sums", **settings)  # type: ignore[arg-type]


class Strict(Sum):
    """Rejects the amount 13 and treats timestamps below stream time - 100 as late."""

    def process(self, event: Number, ctx: Context[Total]) -> None:
        super().process(event, ctx)
        if event.amount == 13:
            raise RejectedRecord("thirteen is not taken")
        if event.timestamp < ctx.current_stream_time - 100:
            raise LateRecord(ctx.current_stream_time - 100 - event.timestamp)


class Exploding(Sum):
    def on_timer(self, timer: Timer, ctx: Context[Total]) -> None:
        super().on_timer(timer, ctx)
        raise RuntimeError("timers fail too")


def test_outputs_carry_key_and_event_time() -> None:
    (output,) = driver().pipe("a", Number("e1", 50, 7))
    assert (output.key, output.value, output.timestamp) == ("a", Total(7, 1), 50)


def test_a_rejected_record_goes_to_errors_and_changes_nothing() -> None:
    sums = driver(Strict())
    assert sums.pipe("a", Number("e1", 50, 13)) == []
    assert sums.store("totals") == {}
    (error,) = sums.errors
    assert error.headers["error.class"] == "RejectedRecord"
    assert error.headers["error.message"] == "thirteen is not taken"
    assert error.headers["error.service"] == "sums"


def test_a_rejected_event_id_may_come_again() -> None:
    sums = driver(Strict())
    sums.pipe("a", Number("e1", 50, 13))
    assert len(sums.pipe("a", Number("e1", 50, 1))) == 1


def test_a_late_record_goes_to_late_with_its_lateness() -> None:
    sums = driver(Strict())
    sums.pipe("a", Number("e1", 1_000, 1))
    sums.pipe("a", Number("e2", 880, 1))
    (late,) = sums.late
    assert (late.headers["late.by_ms"], late.headers["late.stream_time"]) == ("20", "1000")
    assert sums.store("totals") == {"a": Total(1, 1)}
    assert sums.errors == []


def test_a_repeated_event_changes_nothing_and_is_counted() -> None:
    sums = driver()
    sums.pipe("a", Number("e1", 50, 7))
    assert sums.pipe("a", Number("e1", 9_999, 7)) == []
    assert (sums.duplicates, sums.stream_time) == (1, 50)


def test_deduplication_can_be_switched_off() -> None:
    sums = driver(dedupe_retention_ms=0)
    sums.pipe("a", Number("e1", 50, 7))
    assert sums.pipe("a", Number("e1", 50, 7))[0].value == Total(14, 2)


@pytest.mark.parametrize(("tables", "totals"), [([], [Total(7, -1), Total(8, 2)]), (["totals-out"], [Total(8, 2)])])
def test_emit_latest_keeps_the_last_row_of_a_table_and_every_record_of_a_stream(
    tables: list[str], totals: list[Total]
) -> None:
    codecs = replace(CODECS, table_outputs=frozenset(tables))
    sums = TestDriver(Sum(), codecs, service="sums", emit=Emit.LATEST)
    sums.pipe("a", Number("e1", 50, 7))
    assert [output.value for output in sums.pipe("a", Number("e2", 5_000, 1))] == totals


class Rows(Sum):
    """Sums whose input is a table. The key "stuck" can't be deleted."""

    def on_delete(self, topic: str, ctx: Context[Total]) -> None:
        old = self.totals.delete(ctx.key)
        if old is not None:
            ctx.forward(Total(-old.amount, len(topic)))
        if ctx.key == "stuck":
            raise RejectedRecord("stuck stays")


def table_driver(processor: Processor[Number, Total]) -> TestDriver:
    codecs = replace(CODECS, tables=frozenset(CODECS.inputs))
    return TestDriver(processor, codecs, service="sums")


def test_a_record_without_value_deletes_a_tables_row_at_the_records_own_time() -> None:
    sums = table_driver(Rows())
    sums.pipe("a", Number("e1", 50, 7))
    (output,) = sums.pipe_bytes(b"a", None, 80)
    assert (output.value, output.timestamp, sums.stream_time) == (Total(-7, len("numbers")), 80, 80)
    assert sums.store("totals") == {}
    assert sums.pipe_bytes(b"a", None, 80) == []
    assert (sums.errors, sums.duplicates) == ([], 0)


def test_a_delete_that_fails_goes_to_errors_and_changes_nothing() -> None:
    sums = table_driver(Rows())
    sums.pipe("stuck", Number("e1", 50, 7))
    assert sums.pipe_bytes(b"stuck", None, 80) == []
    (error,) = sums.errors
    assert (error.key, error.value) == (b"stuck", None)
    assert (error.headers["error.stage"], error.headers["error.message"]) == ("process", "stuck stays")
    assert sums.store("totals") == {"stuck": Total(7, 1)}


def test_a_table_whose_logic_has_no_on_delete_reports_it() -> None:
    sums = table_driver(Sum())
    assert sums.pipe_bytes(b"a", None, 80) == []
    assert sums.errors[0].headers["error.message"] == "numbers is a table of the job, but Sum has no on_delete()"


@pytest.mark.parametrize(("key", "time"), [(None, 5), (b"\xff", 5), (b"a", -1), (b"a", 1 << 53)])
def test_a_delete_needs_a_key_and_a_time(key: bytes | None, time: int) -> None:
    sums = table_driver(Rows())
    assert sums.pipe_bytes(key, None, time) == []
    assert (sums.errors[0].headers["error.stage"], sums.stream_time) == ("decode", -1)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, b"[]", "key is null"),
        (b"a", None, "value is null"),
        (b"\xff", b'["e", 1, 1]', "not UTF-8"),
        (b"a", b"rubbish", "Expecting value"),
        (b"a", b'["e", -1, 1]', "event time -1 is negative"),
        (b"a", b'["e", 9007199254740993, 1]', "beyond the allowed future"),
    ],
)
def test_invalid_records_go_to_errors_unchanged(key: bytes | None, value: bytes | None, reason: str) -> None:
    sums = driver()
    assert sums.pipe_bytes(key, value, timestamp=5, headers=[("trace", b"1")]) == []
    (error,) = sums.errors
    assert (error.key, error.value, error.headers["trace"]) == (key, value, "1")
    assert error.headers["error.stage"] == "decode"
    assert reason in error.headers["error.message"]
    assert sums.stream_time == -1


def test_a_failing_timer_is_reported_and_does_not_fire_again() -> None:
    sums = driver(Exploding())
    sums.pipe("a", Number("e1", 50, 7))
    assert sums.advance_wall_time(2_000) == []
    (error,) = sums.errors
    assert (error.key, error.headers["error.timer"]) == (b"a", "idle")
    assert sums.advance_wall_time(2_000) == []
    assert len(sums.errors) == 1


def test_timers_survive_a_restart() -> None:
    sums = driver()
    sums.pipe("a", Number("e1", 50, 7))
    sums.restart()
    assert sums.timers() == 1
    assert [output.timestamp for output in sums.advance_wall_time(1_000)] == [1_050]


def test_a_store_name_used_twice_is_refused() -> None:
    class Twice(Sum):
        more = KeyValueStore("totals", Total)

    with pytest.raises(ValueError, match="declares the store 'totals' twice"):
        driver(Twice())


def test_a_store_holds_only_its_record_type() -> None:
    class Wrong(Sum):
        def process(self, event: Number, ctx: Context[Total]) -> None:
            self.totals.put(ctx.key, event)  # type: ignore[arg-type]

    sums = driver(Wrong())
    sums.pipe("a", Number("e1", 50, 7))
    assert "store totals holds Total, not Number" in sums.errors[0].headers["error.message"]
