"""Functions find the stores of tables and aggregates by name, no matter where in the file they are defined."""

from __future__ import annotations

import textwrap

import pytest

from forebay.ksml.document import parse
from forebay.ksml.naming import references_of
from forebay.processor.api import AnyProcessor
from forebay.processor.bound_stores import declared_stores
from tests.ksml.running import driver

HEAD = """
streams:
  questions: {topic: questions, keyType: string, valueType: json}
  clicks: {topic: clicks, keyType: string, valueType: string}
tables:
  towns: {topic: towns, keyType: string, valueType: string}
  people: {topic: people, keyType: string, valueType: string}
stores:
  held: {type: keyValue, keyType: string, valueType: json}
functions:
  look: {type: valueTransformer, stores: [held], expression: held.get(key), resultType: json}
pipelines:
"""
ASKING = """
  asking:
    from: questions
    via: [{type: transformValue, mapper: look}]
    to: {topic: answers, keyType: string, valueType: json}
"""
LONG_ZERO = "initializer: {expression: 0, resultType: long}"


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize(
    ("source", "via", "expected"),
    [
        ("clicks", "[{type: groupByKey}, {type: count, store: held}]", 2),
        ("clicks", "[{type: toTable, store: held}]", "rome"),
        ("towns", "[{type: filter, if: {expression: value != 'x'}, store: held}]", "rome"),
        ("towns", "[{type: mapValues, mapper: {expression: len(value), resultType: json}, store: held}]", 4),
        (
            "towns",
            "[{type: join, table: people, store: held, valueJoiner: {expression: value1 + value2, resultType: json}}]",
            "romeanna",
        ),
        (
            "towns",
            "[{type: groupBy, mapper: {expression: '(\"a\", value)', resultType: '(string, string)'}}, "
            "{type: count, store: held}]",
            1,
        ),
        (
            "towns",
            "[{type: groupBy, mapper: {expression: '(\"a\", value)', resultType: '(string, string)'}}, "
            f"{{type: aggregate, store: held, {LONG_ZERO}, "
            "adder: {expression: aggregatedValue + len(value), resultType: long}, "
            "subtractor: {expression: aggregatedValue - len(value), resultType: long}}]",
            4,
        ),
    ],
)
def test_a_function_reads_the_store_of_a_result(source: str, via: str, expected: object, is_first: bool) -> None:
    holding = textwrap.dedent(f"""
  holding:
    from: {source}
    via: {via}
    as: held-rows
""")
    holding = textwrap.indent(holding, "  ")
    run = driver(HEAD + (ASKING + holding if is_first else holding + ASKING))
    if "people" in via:
        run.pipe("a", "anna", "people")
    run.pipe("a", "rome", source)
    run.pipe("a", "rome", source)
    run.pipe("a", 1, "questions")
    assert not run.driver.errors
    assert [sent.value for sent in run.sent if sent.topic == "answers"] == [expected]


def test_a_store_with_the_name_of_a_table_is_a_store_of_its_own() -> None:
    text = HEAD.replace("held", "towns").replace("towns.get(key)", "[towns.get(key), towns.put(key, value)]")
    run = driver(text + ASKING + "  holding: {from: towns, to: {topic: copies}}\n")
    run.pipe("a", "rome", "towns")
    run.pipe("a", 1, "questions")
    run.pipe("a", 2, "questions")
    assert not run.driver.errors
    assert [sent.value for sent in run.sent if sent.topic == "answers"] == [[None, None], [1, None]]


def test_pipeline_of_a_store_may_read_results_of_its_reader() -> None:
    asking = ASKING.replace("to: {topic: answers, keyType: string, valueType: json}", "as: answered")
    counting = """
  counting:
    from: answered
    via: [{type: mapValues, mapper: {expression: key, resultType: string}}, {type: groupByKey, store: held}]
    as: grouped
  sending: {from: grouped, via: [{type: count}, {type: toStream}], to: {topic: answers}}
"""
    run = driver(HEAD + asking + counting)
    run.pipe("a", 1, "questions")
    run.pipe("a", 2, "questions")
    assert [sent.value for sent in run.sent] == [1, 2]


def stores_of(processor: AnyProcessor) -> list[str]:
    return [store.name for _, store in declared_stores(processor)]


@pytest.mark.parametrize("kind", ["join", "leftJoin", "outerJoin"])
def test_the_store_of_a_join_without_a_name_is_called_as_in_0_2(kind: str) -> None:
    text = f"""
tables:
  towns: {{topic: towns, keyType: string, valueType: string}}
  people: {{topic: people, keyType: string, valueType: string}}
pipelines:
  main:
    from: towns
    via:
      - type: {kind}
        table: people
        store: {{type: keyValue, keyType: string, valueType: json}}
        valueJoiner: {{expression: str(value1), resultType: json}}
    to: {{topic: results, keyType: string, valueType: json}}
"""
    run = driver(text)
    run.pipe("a", "rome", "towns")
    assert run.driver.errors == []
    names = [
        name for sub_topology in run.driver.sub_topologies for p in sub_topology.processors for name in stores_of(p)
    ]
    assert "join-9" in names, names


HOLDING = """
  holding:
    from: clicks
    via: [{type: groupByKey}, {type: count, store: held}]
    as: held-rows
"""


@pytest.mark.parametrize("name", ["count", "groupByKey", "held", "clicks", "look"])
def test_a_result_may_have_any_name_that_the_pipeline_of_the_store_mentions(name: str) -> None:
    asking = ASKING.replace("    to: {topic", f"    as: {name}\n    to: {{topic")
    run = driver(HEAD + asking + HOLDING)
    run.pipe("a", "rome", "clicks")
    run.pipe("a", 1, "questions")
    assert not run.driver.errors
    assert [sent.value for sent in run.sent if sent.topic == "answers"] == [1]


def test_references_are_the_names_of_the_sources_of_an_operation() -> None:
    text = """
main:
  from: source
  via:
    - {type: join, table: people, valueJoiner: joiner}
    - {type: merge, stream: {topic: inline}}
    - {type: count, store: held, name: counting}
  branch:
    - if: taken
      via: [{type: leftJoin, globalTable: towns, mapper: town}, {type: merge, stream: visits}]
      to: results
    - {as: others}
"""
    assert references_of(parse(text, "test.yaml").value["main"]) == [
        ("source", ("streams", "tables", "globalTables")),
        ("people", ("tables",)),
        ("towns", ("globalTables",)),
        ("visits", ("streams",)),
    ]
    assert references_of(parse("main: {from: {topic: inline}}", "test.yaml").value["main"]) == []
