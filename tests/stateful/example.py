"""A service as a user writes it: a class for PySpark's transformWithState, and the job that runs it."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.records import Record
from forebay.serde.json_format import json_of
from forebay.stateful import stateful_job

REMIND_AFTER_MS = 300


class Visit(Record):
    """A visit of a page."""

    user: str
    page: str


class Known(Record):
    """A user who was known before the job began, with the number of earlier visits."""

    user: str
    earlier: int


class Seen(Record):
    """What the class knows of a user, after a visit or in the single reminder after the first visit."""

    user: str
    visits: int
    pages: str
    is_reminder: bool


class Visits(StatefulProcessor):
    """Counts visits, keeps the pages in order and by name, and reminds each new user once."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.count = handle.getValueState("count", "n bigint")
        self.pages = handle.getListState("pages", "page string")
        self.by_page = handle.getMapState("byPage", "page string", "n int", 3_600_000)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
        for row in rows:
            if not self.pages.exists():
                self.handle.registerTimer(timerValues.getCurrentProcessingTimeInMs() + REMIND_AFTER_MS)
            self.count.update(((self.count.get() or (0,))[0] + 1,))
            self.pages.appendValue((row.page,))
            known = self.by_page.getValue((row.page,)) or (0,)
            self.by_page.updateValue((row.page,), (known[0] + 1,))
        yield self.seen(key, is_reminder=False)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Any:
        yield self.seen(key, is_reminder=True)

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        self.count.update((initialState.earlier,))

    def seen(self, key: Any, *, is_reminder: bool) -> Row:
        pages, by_page = [page for (page,) in self.pages.get()], dict(self.by_page.iterator())
        assert {name: count for (name,), (count,) in by_page.items()} == {name: pages.count(name) for name in pages}
        (visits,) = self.count.get() or (0,)
        return Row(user=key[0], visits=visits, pages=" ".join(pages), is_reminder=is_reminder)


JOB = stateful_job(
    Visits,
    input_topic="example_visits",
    input=json_of(Visit),
    output_topic="example_seen",
    output=json_of(Seen),
    group_by="user",
    time_mode="ProcessingTime",
    initial_state_topic="example_known",
    initial_state=json_of(Known),
)
