"""An aggregate subtracts a row with the timestamp with which the row was forwarded, in any kind of table."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from tests.sql.driven import Driven, plain

TABLES = "".join(
    f"CREATE TABLE {name} (id STRING PRIMARY KEY, g STRING, v BIGINT) WITH (KAFKA_TOPIC='{name}', VALUE_FORMAT='JSON');"
    for name in "abc"
)
STREAM = "CREATE STREAM s (id STRING KEY, g STRING, v BIGINT) WITH (KAFKA_TOPIC='a', VALUE_FORMAT='JSON');"
JOINED = (
    "CREATE TABLE d AS SELECT {}.id AS id, COALESCE(a.g, b.g) AS g, a.v AS v, b.v AS w FROM a {} JOIN b ON a.id = b.id;"
)
FULL = (
    "CREATE TABLE {name} AS SELECT ROWKEY, COALESCE({one}.g, {other}.g) AS g, {one}.v AS v, {other}.v AS w "
    "FROM {one} FULL JOIN {other} ON {one}.id = {other}.id;"
)
WINDOW = "CREATE TABLE d AS SELECT id, LATEST_BY_OFFSET(g) AS g, COUNT(*) AS v FROM s WINDOW {} GROUP BY id;"
PROGRAMS = {
    "a topic": "CREATE TABLE d AS SELECT id, g, v FROM a;",
    "rows of a condition": "CREATE TABLE d AS SELECT id, g, v FROM a WHERE v > 1;",
    "inner join": JOINED.format("a", "INNER"),
    "left join": JOINED.format("a", "LEFT"),
    "full join": FULL.format(name="d", one="a", other="b"),
    "left join of rows of a condition": (
        "CREATE TABLE p AS SELECT id, g, v FROM b WHERE v > 1;"
        + JOINED.format("a", "LEFT").replace("b.", "p.").replace(" b ", " p ")
    ),
    "rows of a condition of a left join": (
        JOINED.format("a", "LEFT").replace("TABLE d", "TABLE p") + "CREATE TABLE d AS SELECT * FROM p WHERE v > 1;"
    ),
    "left joins": (
        "CREATE TABLE d AS SELECT a.id, a.g AS g, b.v AS v, c.v AS w FROM a LEFT JOIN b ON a.id = b.id "
        "LEFT JOIN c ON a.id = c.id;"
    ),
    "inner join of a left join": (
        JOINED.format("a", "LEFT").replace("TABLE d", "TABLE p")
        + "CREATE TABLE d AS SELECT c.id, p.g AS g, p.v AS v, c.v AS w FROM c JOIN p ON c.id = p.id;"
    ),
    "foreign key": "CREATE TABLE d AS SELECT a.id, a.g AS g, b.v AS v FROM a LEFT JOIN b ON a.g = b.id;",
    "aggregate": "CREATE TABLE d AS SELECT g, COUNT(*) AS v FROM a GROUP BY g HAVING COUNT(*) > 1;",
    "time of the value": "CREATE TABLE d WITH (TIMESTAMP='V') AS SELECT id, g, v FROM a;",
    "time of the value of a left join": JOINED.format("a", "LEFT").replace(
        "TABLE d AS", "TABLE d WITH (TIMESTAMP='V') AS"
    ),
}
WINDOWS = {
    "tumbling": WINDOW.format("TUMBLING (SIZE 10 MILLISECONDS)"),
    "hopping": WINDOW.format("HOPPING (SIZE 10 MILLISECONDS, ADVANCE BY 5 MILLISECONDS)"),
    "session": WINDOW.format("SESSION (4 MILLISECONDS)"),
}


class Sums:
    """The sums of the timestamps of a table's rows by group: as an aggregate returns them, and added up again."""

    def __init__(self, program: str, group: str = "g") -> None:
        statement = f"CREATE TABLE e AS SELECT {group}, SUM(ROWTIME) AS total, COUNT(*) AS n FROM d GROUP BY {group};"
        self._run = Driven(program + statement, tasks=2)
        self._rows: dict[Any, Any] = {}
        self.aggregated: dict[Any, tuple[int, int]] = {}

    def send(self, topic: str, key: str, row: Any, timestamp: int) -> None:
        self._run.send(topic, key, row, timestamp)
        for sent in self._run.sent:
            if sent.topic == "D":
                self._rows[sent.key] = None if sent.value is None else (plain(sent.key), sent.value, sent.timestamp)
            elif sent.topic == "E":
                self.aggregated[plain(sent.key)] = sent.value
        assert not self._run.driver.errors

    def add_up(self, group_of: Any) -> dict[Any, tuple[int, int]]:
        totals: dict[Any, tuple[int, int]] = dict.fromkeys(self.aggregated, (0, 0))
        for key, value, timestamp in filter(None, self._rows.values()):
            total, number = totals.get(group_of(key, value), (0, 0))
            totals[group_of(key, value)] = total + timestamp, number + 1
        return totals


def changes(rng: random.Random, topics: Sequence[str]) -> list[tuple[str, str, Any, int]]:
    """Return random changes, some with earlier timestamps than those before."""

    def row(at: int) -> Any:
        return None if rng.random() < 0.3 else {"G": rng.choice("xyz"), "V": rng.choice((1, 1 + at))}

    times = [max(0, 10 * number + rng.randrange(-40, 5)) for number in range(40)]
    return [(rng.choice(topics), rng.choice("xyz"), row(at), at) for at in times]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_sum_of_timestamps_is_that_of_the_present_rows(program: str, seed: int) -> None:
    sums = Sums(TABLES + PROGRAMS[program])
    topics = [topic for topic in "abc" if f"{topic}.v" in PROGRAMS[program]] or ["a"]
    for change in changes(random.Random(seed), topics):
        sums.send(*change)
        assert sums.aggregated == sums.add_up(lambda key, value: key if program == "aggregate" else value[0]), change


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("program", WINDOWS)
def test_the_sum_of_timestamps_of_windows_is_that_of_the_present_rows(program: str, seed: int) -> None:
    sums = Sums(STREAM + WINDOWS[program])
    for topic, key, row, timestamp in changes(random.Random(seed), "a"):
        sums.send(topic, key, row or {"G": "x", "V": 1}, timestamp)
        assert sums.aggregated == sums.add_up(lambda _key, value: value[0])
