"""Classes that Spark rejects or Forebay can't run are rejected with the topology, or for the record at fault."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from forebay.builder import TopologyError
from tests.stateful.processors import Click, EveryState, Expiring, Reminders, drive, texts


class InInit(EveryState):
    """Runs a function in init()."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def init(self, handle: Any) -> None:
        super().init(handle)
        self.step(self, handle)


class InCall(EveryState):
    """Runs a function for each record."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        yield key[0], repr(self.step(self))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda _, handle: handle.getListState("total", "n int"), "declared twice"),
        (lambda _, handle: handle.getValueState("n", "n nothing"), "the type 'nothing'"),
        (lambda _, handle: handle.getValueState("n", "n"), "its end"),
        (lambda _, handle: handle.getValueState("n", 5), "give a StructType or DDL text"),
        (lambda _, handle: handle.getValueState("n", "n int, n int"), "different names"),
        (lambda _, handle: handle.getValueState("no spaces", "n int"), "A-Z a-z"),
        (lambda _, handle: handle.getMapState("n", "k array<int>", "v int"), "a map's key"),
        (lambda _, handle: handle.getValueState("n", "n int", 1_000), "ProcessingTime"),
        (lambda _, handle: handle.registerTimer(5), "init"),
        (lambda self, _: self.total.exists(), "no grouping key"),
        (lambda self, _: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_invalid_init_is_refused(step: Any, reason: str) -> None:
    with pytest.raises(TopologyError, match=reason):
        drive(InInit(step))


@pytest.mark.parametrize("ttl_ms", [0, -1, True, 1.5])
def test_a_time_to_live_is_a_positive_number_of_ms(ttl_ms: Any) -> None:
    with pytest.raises(TopologyError, match="ttlDurationMs"):
        drive(InInit(lambda _, handle: handle.getValueState("n", "n int", ttl_ms)), time_mode="ProcessingTime")


class ForPandas(EveryState):
    """Written for transformWithStateInPandas, as its annotation shows."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"user": [key[0]]})


class ReturnsFrames(EveryState):
    """Written for transformWithStateInPandas, as only its results show."""

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        yield pd.DataFrame({"user": [key[0]]})


class Incomplete(StatefulProcessor):
    """Lacks a required method."""


SHARED = EveryState()


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        (ForPandas, {}, "transformWithStateInPandas"),
        (Incomplete, {}, "lacks handleInputRows\\(\\), init\\(\\)"),
        (Click, {}, "can't be created"),
        (lambda: 5, {}, "is not a StatefulProcessor"),
        (lambda: SHARED, {}, "the same EveryState"),
        (Expiring, {}, "needs time_mode"),
        (EveryState, {"time_mode": "Batch"}, "time_mode='Batch'"),
        (EveryState, {"group_by": ["missing"]}, "no column 'missing'"),
        (EveryState, {"group_by": []}, "give the names"),
        (EveryState, {"watermark_delay_ms": 5}, "EventTime"),
        (EveryState, {"time_mode": "EventTime", "watermark_delay_ms": -5}, "0 or more"),
        (EveryState, {"input_schema": "missing int"}, "no column 'missing'"),
        (EveryState, {"input_schema": "user nothing"}, "the type 'nothing'"),
    ],
)
def test_invalid_topology_is_refused(given: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(TopologyError, match=reason):
        drive(given, **options)


def test_an_instance_that_can_t_be_copied_is_refused() -> None:
    with pytest.raises(TopologyError, match="can't be copied for each task"):
        drive(InInit(threading.Lock()))


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (lambda self: self.total.update(("x",)), "a whole number"),
        (lambda self: self.total.update((1, 2)), "has 1 columns"),
        (lambda self: self.total.update(5), "a tuple of sum"),
        (lambda self: self.total.update((1 << 31,)), "32 bits"),
        (lambda self: self.total.update(None), "clear"),
        (lambda self: self.pages.appendValue((5, 5)), "a string"),
        (lambda self: self.pages.put([None]), "can't hold None"),
        (lambda self: self.by_page.updateValue(("a",), ("x", 0.5)), "a whole number"),
        (lambda self: self.by_page.updateValue((5,), (1, 0.5)), "a string"),
        (lambda self: self.handle.registerTimer(5), "time_mode"),
        (lambda self: list(self.handle.listTimers()), "time_mode"),
        (lambda self: self.handle.getValueState("late", "n int"), "after init"),
        (lambda self: self.handle.deleteIfExists("total"), "after init"),
    ],
)
def test_invalid_call_sends_the_record_to_errors(step: Any, reason: str) -> None:
    driver = drive(InCall(step), raise_errors=False)
    driver.pipe("any", Click("a", "home"))
    (failure,) = driver.errors
    assert reason in failure.headers["error.message"]
    assert driver.store("InCall-total") == {}


def test_timers_take_whole_ms() -> None:
    class Half(Reminders):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            self.handle.registerTimer(0.5)  # type: ignore[arg-type]

    driver = drive(Half, time_mode="ProcessingTime", raise_errors=False)
    driver.pipe("any", Click("a"))
    assert "a whole number of ms" in driver.errors[0].headers["error.message"]


def test_an_output_that_does_not_fit_is_the_record_s_error() -> None:
    driver = drive(ReturnsFrames, raise_errors=False)
    driver.pipe("any", Click("a"))
    assert "transformWithStateInPandas" in driver.errors[0].headers["error.message"]


@pytest.mark.parametrize("row", [("a",), ("a", "b", "c"), 5, {"user": "a", "missing": 1}, ("a", 5)])
def test_a_row_that_does_not_fit_the_output(row: Any) -> None:
    class Returns(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            return iter([row])

    driver = drive(Returns, raise_errors=False)
    assert driver.pipe("any", Click("a")) == []
    assert len(driver.errors) == 1


@pytest.mark.parametrize("result", [None, [], iter([("a", "b")]), [{"user": "a", "text": "b"}]])
def test_results_of_a_call(result: Any) -> None:
    driver = drive(_Returning(result), raise_errors=True)
    expected = [] if not result else [("a", "b")]
    assert texts(driver.pipe("any", Click("a"))) == expected


class _Returning(EveryState):
    def __init__(self, result: Any) -> None:
        self.result = None if result is None else list(result)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        return self.result


def test_a_deleted_state_can_t_be_used() -> None:
    def use(self: Any) -> str:
        with pytest.raises(PySparkRuntimeError, match="deleteIfExists"):
            self.old.exists()
        return "refused"

    class Deletes(InCall):
        def init(self, handle: Any) -> None:
            super().init(handle)
            self.old = handle.getValueState("old", "n int")
            handle.deleteIfExists("old")
            handle.deleteIfExists("never")

    driver = drive(Deletes(use))
    assert texts(driver.pipe("any", Click("a"))) == [("a", "'refused'")]
    with pytest.raises(KeyError):
        driver.store("Deletes-old")


def test_records_without_key_or_value_are_errors() -> None:
    driver = drive(EveryState, group_by=None, raise_errors=False)
    driver.pipe(None, Click("a"))
    driver.pipe("a", None)
    reasons = [failure.headers["error.message"] for failure in driver.errors]
    assert ["no grouping key" in reasons[0], "has no row" in reasons[1]] == [True, True]
