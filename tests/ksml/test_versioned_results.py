"""A table in a versioned store is joined as of a record's time, regardless of the operation that writes the store."""

from __future__ import annotations

import pytest

from tests.ksml.running import driver, results

STREAMS = """
streams:
  numbers: {topic: numbers, keyType: string, valueType: long}
  others: {topic: others, keyType: string, valueType: string}
  results: {topic: results, keyType: string, valueType: json}
tables:
  names:
    topic: names
    keyType: string
    valueType: long
    store: {type: keyValue, name: names, keyType: string, valueType: long, versioned: true, historyRetention: 1h}
  places: {topic: places, keyType: string, valueType: long}
"""
PIPELINES = """
pipelines:
  written:
    from: {source}
    via: [{via}]
    as: table
  joined:
    from: others
    via:
      - type: leftJoin
        table: table
        valueJoiner: {{expression: "[value1, value2]", resultType: json}}
    to: results
"""
STORE = "store: {type: keyValue, name: own, keyType: string, valueType: long, versioned: true, historyRetention: 1h}"
SUM = "expression: value1 + value2, resultType: long"
GROUPED = "{type: groupByKey}, "
BY_KEY = "{type: groupBy, mapper: {expression: '(key, value)', resultType: '(string, long)'}}, "
OPERATIONS = {
    "filter": ("names", f"{{type: filter, if: {{expression: value > 0}}, {STORE}}}", (1, 2)),
    "transformValue": (
        "names",
        f"{{type: transformValue, mapper: {{expression: value * 2, resultType: long}}, {STORE}}}",
        (2, 4),
    ),
    "join": (
        "names",
        f"{{type: leftJoin, table: places, valueJoiner: {{expression: value1, resultType: long}}, {STORE}}}",
        (1, 2),
    ),
    "join by a foreign key": (
        "names",
        "{type: leftJoin, table: places, foreignKeyExtractor: {expression: str(value), resultType: string}, "
        f"valueJoiner: {{expression: value1, resultType: long}}, {STORE}}}",
        (1, 2),
    ),
    "count": ("numbers", f"{GROUPED}{{type: count, {STORE}}}", (1, 2)),
    "reduce": ("numbers", f"{GROUPED}{{type: reduce, reducer: {{{SUM}}}, {STORE}}}", (1, 3)),
    "reduce of a table": (
        "places",
        f"{BY_KEY}{{type: reduce, adder: {{{SUM}}}, subtractor: {{expression: value1 - value2}}, {STORE}}}",
        (1, 2),
    ),
    "count of a table": ("places", f"{BY_KEY}{{type: count, {STORE}}}", (1, 1)),
    "toTable": ("numbers", f"{{type: toTable, {STORE}}}", (1, 2)),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_join_finds_the_row_as_of_its_timestamp(operation: str) -> None:
    source, via, (first, last) = OPERATIONS[operation]
    run = driver(STREAMS + PIPELINES.format(source=source, via=via))
    for value, at in ((1, 10), (2, 20)):
        run.pipe("a", value, source, at)
    for text, at in (("before", 5), ("between", 15), ("after", 25)):
        run.pipe("a", text, "others", at)
    assert results(run) == [("a", ["before", None]), ("a", ["between", first]), ("a", ["after", last])]
    assert not run.driver.errors


def test_a_function_reads_versions_of_an_aggregate() -> None:
    text = PIPELINES.format(source="numbers", via=OPERATIONS["count"][1]).partition("  joined:")[0]
    run = driver(
        f"""{STREAMS}{text}
  read:
    from: others
    via:
      - type: transformValue
        mapper:
          code: version = own.get(key, int(value))
          expression: version and version["value"]
          resultType: json
          stores: [own]
    to: results
"""
    )
    for at in (10, 20):
        run.pipe("a", 0, "numbers", at)
    for at in (5, 15, 25):
        run.pipe("a", str(at), "others", 30)
    assert results(run) == [("a", None), ("a", 1), ("a", 2)]
    assert not run.driver.errors
