"""Runs cases as KSML on its test driver. Each step is a pipeline, and a second one writes its changes to a topic."""

from __future__ import annotations

import json
from typing import Any

from forebay.ksml.compile import definitions
from forebay.ksml.definition import definition_of
from forebay.ksml.driver import KsmlDriver
from forebay.ksml.schemas import SchemaFiles
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
    Verb.JOIN: "join",
    Verb.LEFT_JOIN: "leftJoin",
    Verb.OUTER_JOIN: "outerJoin",
    Verb.FOREIGN: "join",
    Verb.LEFT_FOREIGN: "leftJoin",
    Verb.ENRICH: "leftJoin",
}
_JOINER = {
    "expression": "((7 if value1 is None else value1) * 3 + (5 if value2 is None else value2) * 5) % 97",
    "resultType": "long",
}
_ZERO = {"expression": "0", "resultType": "long"}
_FOREIGN = {"expression": f"None if value % 4 == 0 else {list(KEYS)}[value % 3]", "resultType": "string"}
_SUM: list[dict[str, Any]] = [
    {"type": "groupByKey"},
    {
        "type": "aggregate",
        "initializer": _ZERO,
        "aggregator": {"expression": "aggregatedValue + value", "resultType": "long"},
    },
]


def ksml_of(case: Case) -> str:
    """Return the definition of a case as JSON, which is valid YAML."""
    kinds: dict[str, dict[str, Any]] = {"tables": {}, "streams": {}}
    pipelines: dict[str, Any] = {}
    for at, step in enumerate(case.steps):
        of = [f"n{item}" for item in step.of]
        begin = of[0] if not step.topic else f"in{at}"
        if step.topic:
            declared: dict[str, Any] = {"topic": step.topic, "keyType": "string", "valueType": "long"}
            if step.verb is Verb.TABLE:
                declared["store"] = {"name": f"s{at}", "type": "keyValue"}
            kinds["tables" if step.verb is Verb.TABLE else "streams"][begin] = declared
        pipelines[f"p{at}"] = {"from": begin, "via": _operations(step, of), "as": f"n{at}"}
        kinds["streams"][f"out{at}"] = {"topic": f"out-{at}", "keyType": "string", "valueType": "long"}
        pipelines[f"q{at}"] = {"from": f"n{at}", "via": [{"type": "toStream"}], "to": f"out{at}"}
    return json.dumps({**{kind: item for kind, item in kinds.items() if item}, "pipelines": pipelines}, indent=1)


def _operations(step: Step, of: list[str]) -> list[dict[str, Any]]:
    match step.verb:
        case Verb.TABLE:
            return [{"type": "filter", "if": {"expression": "True"}}]
        case Verb.SUM:
            return _SUM
        case Verb.ENRICH:
            return [{"type": "leftJoin", "table": of[0], "valueJoiner": _JOINER}, *_SUM]
        case Verb.FILTER:
            return [{"type": "filter", "if": {"expression": f"value % 3 != {step.number % 3}"}}]
        case Verb.MAP:
            mapper = {"expression": f"(value * 7 + {step.number}) % 97", "resultType": "long"}
            return [{"type": "mapValues", "mapper": mapper}]
        case Verb.GROUP:
            key = f"{list(KEYS)}[value % 3]" if step.number % 2 else f"'{KEYS[0]}'"
            return [
                {"type": "groupBy", "mapper": {"expression": f"({key}, value)", "resultType": "(string, long)"}},
                {
                    "type": "aggregate",
                    "initializer": _ZERO,
                    "adder": {"expression": "aggregatedValue + 1000 + value", "resultType": "long"},
                    "subtractor": {"expression": "aggregatedValue - 1000 - value or None", "resultType": "long"},
                },
            ]
    join: dict[str, Any] = {"type": _JOINS[step.verb], "table": of[1], "valueJoiner": _JOINER}
    if step.verb in (Verb.FOREIGN, Verb.LEFT_FOREIGN):
        join["foreignKeyExtractor"] = _FOREIGN
    return [join]


def _driver_of(case: Case) -> TestDriver:
    result = definitions([definition_of(ksml_of(case), "case.yaml")], SchemaFiles([]))
    return KsmlDriver(result, tasks=case.tasks).driver


def _send(driver: TestDriver, case: Case, number: int) -> None:
    sent = case.records[number]
    driver.pipe(sent.key, sent.value, sent.topic, sent.time)


def _output_of(output: Forwarded[Any]) -> tuple[int, str, int | None]:
    return int(output.topic.rpartition("-")[2]), output.key, output.value


KSML = Language(_driver_of, _send, _output_of)
