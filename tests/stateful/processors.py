"""Classes as PySpark's users write them for transformWithState, and a driver for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import IntegerType, StructField, StructType

from forebay.records import Record
from forebay.stateful import stateful_job
from forebay.testing import TestDriver

START = 1_700_000_000_000
"""The wall clock (ms) at which the drivers begin."""


class Click(Record):
    """An input record."""

    user: str
    page: str = ""
    amount: int = 1
    at: int = 0


class Result(Record):
    """An output record."""

    user: str
    text: str


class Balance(Record):
    """A row of initial state."""

    user: str
    amount: int


class EveryState(StatefulProcessor):
    """Uses each type of state, and returns the contents of each."""

    ttl_ms: int | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.total = handle.getValueState("total", StructType([StructField("sum", IntegerType())]), self.ttl_ms)
        self.pages = handle.getListState("pages", "page string, amount int", self.ttl_ms)
        self.by_page = handle.getMapState("byPage", "page string", "amount bigint, share double", self.ttl_ms)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            self.do(row)
        yield Row(user=key[0], text=self.contents())

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self.total.update((initialState.amount,))

    def do(self, row: Row) -> None:
        if row.page == "clear":
            for state in (self.total, self.pages, self.by_page):
                state.clear()
        elif row.page == "put":
            self.pages.put([(f"new{number}", number) for number in range(row.amount)])
        elif row.page.startswith("remove "):
            self.by_page.removeKey((row.page.removeprefix("remove "),))
        else:
            before = (self.total.get() or (0,))[0]
            self.total.update((before + row.amount,))
            self.pages.appendValue((row.page, row.amount))
            known = self.by_page.getValue((row.page,)) or (0, 0.0)
            self.by_page.updateValue((row.page,), (known[0] + row.amount, known[1] + 0.5))

    def contents(self) -> str:
        entries, pages = sorted(self.by_page.iterator()), list(self.pages.get())
        # PySpark's tester calls an empty list or map existing, Spark itself does not.
        exist = [self.total.exists(), self.pages.exists() and pages != [], self.by_page.exists() and entries != []]
        assert sorted(self.by_page.keys()) == [key for key, _ in entries]
        assert len(list(self.by_page.values())) == len(entries)
        assert all(self.by_page.containsKey(key) for key, _ in entries)
        return f"{exist} {self.total.get()} {pages} {entries}"


class Expiring(EveryState):
    """State of a second."""

    ttl_ms = 1_000


class Reminders(StatefulProcessor):
    """Sets a timer for each number of ms that a page names, and deletes one for a page such as `-5`."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n int")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            expiry = row.at + abs(int(row.page))
            (self.handle.deleteTimer if row.page.startswith("-") else self.handle.registerTimer)(expiry)
        yield Row(user=str(key[0]), text=f"{list(self.handle.listTimers())}")

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        expiry = expiredTimerInfo.getExpiryTimeInMs()
        fired = (self.count.get() or (0,))[0] + 1
        self.count.update((fired,))
        if expiry % 10 == 7:
            raise ValueError("a timer that fails")
        now, watermark = timerValues.getCurrentProcessingTimeInMs(), timerValues.getCurrentWatermarkInMs()
        assert expiry <= (watermark if watermark >= 0 else now)
        yield Row(user=str(key[0]), text=f"{expiry} fired as number {fired}; left: {list(self.handle.listTimers())}")


def drive(
    given: StatefulProcessor | Callable[[], StatefulProcessor],
    *,
    tasks: int = 1,
    raise_errors: bool = True,
    **more: Any,
) -> TestDriver:
    """Return a driver of a job that runs a class on clicks, grouped by user unless `more` overrides it."""
    options: dict[str, Any] = {"group_by": "user", "input": Click, "output": Result, **more}
    job = stateful_job(given, input_topic="clicks", output_topic="results", **options)
    return TestDriver(job, clock=START, tasks=tasks, raise_errors=raise_errors)


def texts(outputs: list[Any]) -> list[tuple[str, str]]:
    """Return user and text of outputs."""
    return [(output.value.user, output.value.text) for output in outputs]
