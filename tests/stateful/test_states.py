"""Value, list and map state: the results of PySpark's own TwsTester, also after restarts and with several tasks."""

from __future__ import annotations

import gc
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from tests.stateful.processors import Balance, Click, EveryState, drive, texts

PAGES = ("home", "cart", "clear", "put", "remove home", "help", "ünïcode\0")


def clicks(seed: int, number: int = 60) -> list[Click]:
    draw = random.Random(seed)
    return [Click(draw.choice("abc"), draw.choice(PAGES), draw.randrange(4)) for _ in range(number)]


def in_spark(given: list[Click]) -> list[tuple[str, str]]:
    """Return the class's results in PySpark's tester, one call per record."""
    tester = TwsTester(EveryState())
    rows = [tester.test(click.user, [Row(user=click.user, page=click.page, amount=click.amount)]) for click in given]
    return [(row.user, row.text) for (row,) in rows]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tasks", [1, 3])
def test_the_results_are_those_of_pyspark(seed: int, tasks: int) -> None:
    given = clicks(seed)
    driver = drive(EveryState(), tasks=tasks)
    assert [result for click in given for result in texts(driver.pipe("any", click))] == in_spark(given)


@pytest.mark.parametrize("seed", range(2))
def test_a_restart_before_every_record_changes_nothing(seed: int) -> None:
    given = clicks(seed)
    driver = drive(EveryState, tasks=2)
    results = []
    for click in given:
        assert driver.restart() == []
        results += texts(driver.pipe("any", click))
    assert results == in_spark(given)


def test_records_of_one_commit_see_each_other_s_state() -> None:
    given = clicks(9)
    driver = drive(EveryState)
    assert sorted(texts(driver.run_batch([("any", click) for click in given]))) == sorted(in_spark(given))


def test_a_record_that_fails_leaves_no_state() -> None:
    class Fails(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            yield from super().handleInputRows(key, rows, timerValues)
            if (self.total.get() or (0,))[0] > 10:
                raise ValueError("too much")

    driver = drive(Fails, raise_errors=False)
    first = texts(driver.pipe("any", Click("a", "home", 1)))
    assert driver.pipe("any", Click("a", "home", 20)) == []
    assert len(driver.errors) == 1
    (second,) = texts(driver.pipe("any", Click("a", "cart", 1)))
    assert [*first, second] == in_spark([Click("a", "home", 1), Click("a", "cart", 1)])


def test_an_empty_list_or_map_does_not_exist() -> None:
    class Exists(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            for _ in super().handleInputRows(key, rows, timerValues):
                yield key[0], f"{self.total.exists()} {self.pages.exists()} {self.by_page.exists()}"

    driver = drive(Exists)
    pages = ("remove home", "home", "remove home", "put", "clear")
    shown = [texts(driver.pipe("a", Click("a", page, 0)))[0][1] for page in pages]
    assert shown == ["False False False", "True True True", "True True False", "True False False", "False False False"]


def test_putting_a_list_again_writes_no_deletes() -> None:
    driver = drive(EveryState)
    driver.pipe("any", Click("a", "put", 3))
    rows = driver.store("EveryState-pages")
    driver.pipe("any", Click("a", "put", 3))
    assert driver.store("EveryState-pages") == rows


def test_initial_state_is_processed_before_records() -> None:
    driver = drive(EveryState, initial_state_topic="balances", initial_state=Balance)
    sent = driver.pipe_all([("clicks", "a", Click("a", "home", 1), 5), ("balances", "x", Balance("a", 100), 9)])
    assert texts(sent)[0][1].startswith("[True, True, True] (101,)")
    driver.restart()
    assert texts(driver.pipe("a", Click("a", "home", 1)))[0][1].startswith("[True, True, True] (102,)")


def test_keys_of_several_columns_and_of_other_types() -> None:
    class Keys(EveryState):
        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            yield from super().handleInputRows((repr(key),), rows, timerValues)

    for columns, shown, written in (
        (["user", "amount"], "('a', 2)", ("a", 2)),
        ("amount", "(2,)", 2),
        (None, "('k',)", "k"),
    ):
        driver = drive(Keys, group_by=columns)
        (output,) = driver.pipe("k", Click("a", "home", 2))
        assert (output.value.user, output.key) == (shown, written)


def test_a_task_s_instance_is_closed_once_nothing_uses_it(tmp_path: Path) -> None:
    class Closes(EveryState):
        def __init__(self) -> None:
            self.folder = tmp_path
            self.is_used = False

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:
            self.is_used = True
            return ()

        def close(self) -> None:
            if self.is_used:
                (self.folder / "closed").touch()

    driver = drive(Closes())
    driver.pipe("any", Click("a"))
    assert not (tmp_path / "closed").exists()
    del driver
    gc.collect()
    assert (tmp_path / "closed").exists()
