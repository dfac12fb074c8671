"""Runs cases as SQL on the test driver. Each step is a statement with columns for the foreign key and the group."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from forebay.builder.topology_job import job
from forebay.sql.compile import topology_of
from forebay.sql.program import program_of
from forebay.sql.service import NoSettings
from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded
from tests.relational.graphs import KEYS, Case, Step, Verb
from tests.relational.running import Language

VERBS = frozenset(
    {
        Verb.TABLE,
        Verb.FILTER,
        Verb.MAP,
        Verb.JOIN,
        Verb.LEFT_JOIN,
        Verb.OUTER_JOIN,
        Verb.FOREIGN,
        Verb.LEFT_FOREIGN,
        Verb.GROUP,
        Verb.SUM,
        Verb.ENRICH,
    }
)
_JOINS = {
    Verb.JOIN: "JOIN",
    Verb.LEFT_JOIN: "LEFT JOIN",
    Verb.OUTER_JOIN: "FULL OUTER JOIN",
    Verb.FOREIGN: "JOIN",
    Verb.LEFT_FOREIGN: "LEFT JOIN",
}
_BOTH = "(COALESCE({one}.v, CAST(7 AS BIGINT)) * 3 + COALESCE({other}.v, CAST(5 AS BIGINT)) * 5) % 97"


def sql_of(case: Case) -> str:
    """Return the statements of a case."""
    return "\n".join(_statement(at, step) for at, step in enumerate(case.steps))


def _columns(value: str) -> str:
    """Return the expressions of the value's column and of its foreign key and group."""
    key = f"CASE WHEN ({value}) % 3 = 0 THEN '{KEYS[0]}' WHEN ({value}) % 3 = 1 THEN '{KEYS[1]}' ELSE '{KEYS[2]}' END"
    foreign = f"CASE WHEN ({value}) % 4 = 0 THEN CAST(NULL AS STRING) ELSE {key} END"
    return f"{value} AS v, {foreign} AS fk, {key} AS g"


def _statement(at: int, step: Step) -> str:
    table = f"CREATE TABLE out{at} AS SELECT"
    with_topic = f"WITH (KAFKA_TOPIC='{step.topic}', VALUE_FORMAT='JSON')"
    one, other = (
        [f"out{item}" for item in step.of] if len(step.of) == 2 else (f"out{step.of[0]}" if step.of else "", "")
    )
    match step.verb:
        case Verb.TABLE:
            declared = f"CREATE TABLE in{at} (id STRING PRIMARY KEY, v BIGINT) {with_topic};\n"
            return f"{declared}{table} id, {_columns('v')} FROM in{at};"
        case Verb.SUM:
            declared = f"CREATE STREAM in{at} (id STRING KEY, v BIGINT) {with_topic};\n"
            return f"{declared}{table} id, {_columns('SUM(v)')} FROM in{at} GROUP BY id;"
        case Verb.ENRICH:
            declared = f"CREATE STREAM in{at} (id STRING KEY, v BIGINT) {with_topic};\n"
            value = _BOTH.format(one=f"in{at}", other=one)
            met = (
                f"CREATE STREAM met{at} AS SELECT in{at}.id AS id, {value} AS v FROM in{at} "
                f"LEFT JOIN {one} ON in{at}.id = {one}.id;\n"
            )
            return f"{declared}{met}{table} id, {_columns('SUM(v)')} FROM met{at} GROUP BY id;"
        case Verb.FILTER:
            return f"{table} id, v, fk, g FROM {one} WHERE v % 3 <> {step.number % 3};"
        case Verb.MAP:
            return f"{table} id, {_columns(f'(v * 7 + {step.number}) % 97')} FROM {one};"
        case Verb.GROUP:
            key = "g" if step.number % 2 else f"'{KEYS[0]}'"
            total = _columns("COUNT(*) * 1000 + SUM(v)")
            return f"{table} {key} AS id, {total} FROM {one} GROUP BY {key} HAVING COUNT(*) > 0;"
    is_foreign = step.verb in (Verb.FOREIGN, Verb.LEFT_FOREIGN)
    value, key = _columns(_BOTH.format(one="l", other="r")), "fk" if is_foreign else "id"
    row = "ROWKEY" if step.verb is Verb.OUTER_JOIN else "l.id"
    return f"{table} {row} AS id, {value} FROM {one} l {_JOINS[step.verb]} {other} r ON l.{key} = r.id;"


def _driver_of(case: Case) -> TestDriver:
    program = program_of(sql_of(case), "case.sql")
    topology = cache(lambda: topology_of(program))
    return TestDriver(job(NoSettings, lambda _: topology()), tasks=case.tasks)


def _send(driver: TestDriver, case: Case, number: int) -> None:
    sent = case.records[number]
    data = None if sent.value is None else json.dumps({"V": sent.value}).encode()
    driver.pipe_bytes(sent.key.encode(), data, sent.time, sent.topic)


def _output_of(output: Forwarded[Any]) -> tuple[int, str, int | None] | None:
    if not output.topic.startswith("OUT"):
        return None
    return int(output.topic[3:]), output.key[0], None if output.value is None else output.value[0]


SQL = Language(_driver_of, _send, _output_of)
