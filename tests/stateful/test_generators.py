"""What a generator does when it is closed belongs to its call: it is kept, or undone, together with the record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from forebay.records import Record
from forebay.serde.json_format import json_of
from forebay.stateful import stateful_job
from forebay.testing import TestDriver


class Visit(Record):
    user: str
    at: int


class Visits(Record):
    user: str
    visits: int


class CountFinally(StatefulProcessor):
    """Writes its state in a `finally`. One row can't be encoded."""

    def init(self, handle: Any) -> None:
        self.visits = handle.getValueState("visits", "count bigint")

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:
        (count,) = self.visits.get() or (0,)
        try:
            for row in rows:
                count += 1
                yield 5 if row.at == 13 else Row(user=key[0], visits=count)
        finally:
            self.visits.update((count,))


JOB = stateful_job(
    CountFinally,
    input_topic="visits",
    input=json_of(Visit),
    output_topic="out",
    output=json_of(Visits),
    group_by="user",
)


def test_a_failed_record_changes_no_state_and_the_next_one_is_counted() -> None:
    driver = TestDriver(JOB)
    for at in (1, 13, 14):
        driver.pipe_all([("visits", "ada", Visit("ada", at), at)])
    assert [output.value.visits for output in driver.outputs] == [1, 2]
    assert len(driver.errors) == 1
