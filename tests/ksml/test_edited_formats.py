"""An edited definition is refused at its start if it would misread the rows in the stores of the earlier one."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.runtime.errors import StoreChanged
from forebay.testing import TestDriver
from tests.ksml.running import driver, results

COUNTED = """
streams:
  numbers: {{topic: numbers, keyType: string, valueType: json}}
  results: {{topic: results, keyType: {key}, valueType: {value}}}
pipelines:
  main:
    from: numbers
    via:
      - type: groupBy
        name: grouped
        mapper: {{code: 'return {grouped}', resultType: {key}}}
      - type: aggregate
        store: {{name: x, type: keyValue, keyType: {key}, valueType: {value}}}
        initializer: {{expression: '{first}', resultType: {value}}}
        aggregator: {{code: 'return {result}', resultType: {value}}}
      - type: toStream
    to: results
"""


def program(
    key: str = "string",
    value: str = "long",
    *,
    grouped: str = "key",
    first: str = "0",
    result: str = "aggregatedValue + 1",
) -> str:
    return COUNTED.format(key=key, value=value, grouped=grouped, first=first, result=result)


def start(before: str, after: str) -> list[Any]:
    """Run a definition, then the edited one on the same state. Return the results of the edited one."""
    before_edit, run = driver(before), driver(after)
    old, new = before_edit.driver, run.driver
    send(old)
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    new.restore({task.place: (list(task.table.scan(b"")), task.position) for task in tasks})
    send(new)
    return results(run)


def send(run: TestDriver) -> None:
    run.pipe("5", {"n": 1}, "numbers", 1)
    assert not run.errors


LONGS = program("long", grouped="int(key)")
AS_JSON = program(value="json", first='{"n": 0}', result="aggregatedValue")


def test_the_same_definition_continues() -> None:
    assert start(program(), program()) == [("5", 2)]
    assert start(AS_JSON, AS_JSON) == [("5", {"n": 0})]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (program(), program(value="double", first="0.0")),
        (program(), program(value="int")),
        (program(), AS_JSON),
        (program(value="string", first='"12345678"', result="aggregatedValue"), program()),
        (program(grouped="key"), LONGS),
        (LONGS, program("int", grouped="int(key)")),
    ],
)
def test_rows_with_an_incompatible_format_are_refused_at_the_start(before: str, after: str) -> None:
    with pytest.raises(StoreChanged, match=r"store x holds (rows of|keys in) .*, but is declared with .*forebay reset"):
        start(before, after)
