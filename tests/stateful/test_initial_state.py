"""Initial state from a DataFrame: rows that a backfill processes before the job reads its first record."""

from __future__ import annotations

import pytest

from forebay.testing import TestDriver
from tests.dsl.test_backfill_equals_live import Backfilled
from tests.stateful.example import JOB, Known, Seen, Visit

KNOWN = [("example_known", user, Known(user, earlier), 1) for user, earlier in (("ada", 5), ("bob", 7), ("cid", 9))]
VISITS = [("example_visits", f"key-{user}", Visit(user, "home"), 1_000) for user in ("ada", "bob", "dan", "ada")]


def visits(driver: TestDriver) -> list[tuple[str, int]]:
    outputs = [sent.value for sent in driver.outputs]
    assert driver.errors == []
    assert all(isinstance(value, Seen) for value in outputs)
    return sorted((value.user, value.visits) for value in outputs if not value.is_reminder)


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("most", [1, 50])
def test_a_backfill_of_known_rows_is_the_initial_state(tasks: int, most: int) -> None:
    backfilled = Backfilled(JOB, tasks, KNOWN, most)
    backfilled.run()
    assert backfilled.driver.outputs == []
    driver = backfilled.go_live(VISITS)
    assert visits(driver) == [("ada", 6), ("ada", 7), ("bob", 8), ("dan", 1)]


@pytest.mark.parametrize("tasks", [1, 3])
def test_history_of_both_inputs_begins_with_the_initial_state(tasks: int) -> None:
    backfilled = Backfilled(JOB, tasks, [*VISITS[:2], *KNOWN], 50)
    backfilled.run()
    assert visits(backfilled.go_live(VISITS[2:])) == [("ada", 6), ("ada", 7), ("bob", 8), ("dan", 1)]
