"""If a record fails in one pipeline, only that pipeline is rolled back. The others still produce results."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from forebay.builder import Topology
from forebay.ksml.compile import definitions
from forebay.ksml.definition import definition_of
from forebay.ksml.driver import KsmlDriver
from forebay.ksml.schemas import SchemaFiles
from forebay.ksml.sources import isolate
from tests.dsl.driving import Driven
from tests.ksml.running import driver

TEXT = """
streams:
  src: {topic: src, keyType: string, valueType: long}
  a: {topic: a, keyType: string, valueType: long}
  b: {topic: b, keyType: string, valueType: long}
stores:
  sums: {type: keyValue, keyType: string, valueType: long}
functions:
  add:
    type: valueTransformer
    stores: [sums]
    code: |
      sums.put(key, (sums.get(key) or 0) + value)
    expression: sums.get(key)
    resultType: long
pipelines:
  fails:
    from: src
    via:
      - {type: transformValue, mapper: add}
      - type: transformValue
        mapper: {expression: "value // (value - 3)", resultType: long}
    to: a
  works:
    from: src
    via:
      - type: transformValue
        mapper: {expression: "value * 10", resultType: long}
    to: b
"""


def test_pipelines_of_one_topic_are_independent() -> None:
    run = driver(TEXT)
    for value in (1, 2, 4):
        run.pipe("k", value, "src")
    assert [(sent.topic, sent.value) for sent in run.sent] == [
        *(("a", -1), ("b", 10)),
        ("b", 20),
        *(("a", 2), ("b", 40)),
    ]
    (failed,) = run.driver.errors
    assert failed.value == (2).to_bytes(8, "big")
    # The sum of 1 and 2 was rolled back with the failed result, so the sum is 1 + 4.
    assert run.driver.store("sums") == {"k": 5}


def test_readers_of_a_named_result_are_independent() -> None:
    run = driver(
        TEXT.replace("from: src\n    via:\n      - {type", "from: named\n    via:\n      - {type")
        .replace(
            "pipelines:\n",
            "pipelines:\n  first: {from: src, via: [{type: filter, if: {expression: 'True'}}], as: named}\n",
        )
        .replace("works:\n    from: src", "works:\n    from: named")
    )
    for value in (1, 2):
        run.pipe("k", value, "src")
    assert [(sent.topic, sent.value) for sent in run.sent] == [("a", -1), ("b", 10), ("b", 20)]


GROUPED = """
streams:
  src: {topic: src, keyType: string, valueType: string}
  a: {topic: a, keyType: string, valueType: long}
  b: {topic: b, keyType: string, valueType: long}
tables:
  rows: {topic: src, keyType: string, valueType: string}
pipelines:
  grouping:
    from: rows
    via:
      - type: groupBy
        mapper: {expression: "(value, value)", resultType: "(string, string)"}
    as: grouped
  fails:
    from: grouped
    via:
      - {type: count}
      - {type: toStream}
      - type: transformValue
        mapper: {expression: "value // (value - 2)", resultType: long}
    to: a
  works: {from: grouped, via: [{type: count}, {type: toStream}], to: b}
"""
OF_A_TABLE = GROUPED.replace("  src: {topic: src, keyType: string, valueType: string}\n", "")
OF_A_STREAM = (
    GROUPED.replace("from: rows", "from: src")
    .replace("(value, value)", "value")
    .replace('"(string, string)"', "string")
    .replace("tables:\n  rows: {topic: src, keyType: string, valueType: string}\n", "")
)


@pytest.mark.parametrize("text", [OF_A_TABLE, OF_A_STREAM])
def test_readers_of_named_groups_are_independent(text: str) -> None:
    run = driver(text)
    for key in "xyz":
        run.pipe(key, "group", "src")
    assert [sent.value for sent in run.sent if sent.topic == "b"] == [1, 2, 3]
    # The second row fails and is rolled back only in this pipeline, so that the third row counts as its second one.
    assert [sent.value for sent in run.sent if sent.topic == "a"] == [-1]
    assert len(run.driver.errors) == 2


def test_avro_is_encoded_as_in_a_job(tmp_path: Path) -> None:
    text = """
        streams:
          src: {topic: src, keyType: string, valueType: long}
        pipelines:
          p:
            from: src
            via:
              - type: transformValue
                mapper: {expression: "{'f': value}", resultType: struct}
            to: {topic: out, keyType: string, valueType: "avro:R"}
        """
    schema = '{"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}]}'
    (tmp_path / "R.avsc").write_text(schema)
    definition = definition_of(textwrap.dedent(text), "test.yaml")
    run = KsmlDriver(definitions([definition], SchemaFiles([tmp_path])))
    run.pipe("k", 5, "src")
    run.pipe("k", 1 << 40, "src")
    assert [sent.value["f"] for sent in run.sent] == [5]
    assert "does not fit into int" in run.driver.errors[0].headers["error.message"]


TABLE = """
tables:
  src:
    topic: src
    keyType: string
    valueType: long
    store: {name: rows, type: keyValue, keyType: string, valueType: long}
streams:
  a: {topic: a, keyType: string, valueType: long}
  b: {topic: b, keyType: string, valueType: long}
pipelines:
  fails:
    from: src
    via:
      - {type: mapValues, mapper: {expression: "value // (value - 3)", resultType: long}}
      - {type: toStream}
    to: a
  works:
    from: src
    via:
      - {type: mapValues, mapper: {expression: "value * 10", resultType: long}}
      - {type: toStream}
    to: b
"""


@pytest.mark.parametrize("is_named", [False, True], ids=["declared", "named"])
def test_pipelines_of_one_table_are_independent(is_named: bool) -> None:
    text = TABLE
    if is_named:
        first = "{from: src, via: [{type: filter, if: {expression: 'True'}}], as: named}"
        text = text.replace("from: src", "from: named").replace("pipelines:\n", f"pipelines:\n  first: {first}\n")
    run = driver(text)
    for value in (2, 3, 4):
        run.pipe("k", value, "src")
    assert [(sent.topic, sent.value) for sent in run.sent] == [
        *(("a", -2), ("b", 20)),
        ("b", 30),
        *(("a", 4), ("b", 40)),
    ]
    assert len(run.driver.errors) == 1
    assert run.driver.store("rows")["k"].value == 4


REKEYED = """
streams:
  src: {topic: src, keyType: string, valueType: long}
  a: {topic: a, keyType: string, valueType: long}
  b: {topic: b, keyType: string, valueType: long}
pipelines:
  first:
    from: src
    via:
      - {type: transformKey, mapper: {expression: "key + '!'", resultType: string}}
    as: named
  fails:
    from: named
    via:
      - {type: groupByKey}
      - type: aggregate
        store: {name: one, type: keyValue, keyType: string, valueType: long}
        initializer: {expression: "0", resultType: long}
        aggregator: {expression: "aggregatedValue + value // (value - 3)", resultType: long}
      - {type: toStream}
    to: a
  works:
    from: named
    via:
      - {type: groupByKey}
      - type: aggregate
        store: {name: two, type: keyValue, keyType: string, valueType: long}
        initializer: {expression: "0", resultType: long}
        aggregator: {expression: "aggregatedValue + value", resultType: long}
      - {type: toStream}
    to: b
"""


@pytest.mark.parametrize("place", ["behind each", "named", "grouped"])
def test_pipelines_behind_one_repartition_are_independent(place: str) -> None:
    text = REKEYED
    if place == "named":
        text = text.replace("    as: named", "      - {type: repartition, name: moved}\n    as: named")
    if place == "grouped":
        group = "      - {type: groupByKey}\n"
        text = text.replace(group, "").replace("    as: named", f"{group}    as: named")
    run = driver(text)
    for value in (2, 3, 4):
        run.pipe("k", value, "src")
    assert [(sent.topic, sent.value) for sent in run.sent] == [
        *(("a", -2), ("b", 2)),
        ("b", 5),
        *(("a", 2), ("b", 9)),
    ]
    assert len(run.driver.errors) == 1
    assert len(run.driver.sub_topologies) == 2


JOINED = """
streams:
  src: {topic: src, keyType: string, valueType: string}
  a: {topic: a, keyType: string, valueType: string}
  b: {topic: b, keyType: string, valueType: string}
  met: {topic: met, keyType: string, valueType: string}
pipelines:
  alone:
    from: src
    via:
      - {type: transformValue, mapper: {expression: "1/0 if value == 'alone' else value", resultType: string}}
    to: a
  shouted:
    from: src
    via:
      - {type: transformValue, mapper: {expression: "value + '!'", resultType: string}}
    as: shouted
  table:
    from: src
    via:
      - {type: transformValue, mapper: {expression: "1/0 if value == 'table' else value", resultType: string}}
      - {type: toTable, store: {name: rows, type: keyValue, keyType: string, valueType: string}}
    as: rows
  meets:
    from: shouted
    via:
      - {type: join, table: rows, valueJoiner: {expression: "value1 + value2", resultType: string}}
      - {type: transformValue, mapper: {expression: "1/0 if 'meets' in value else value", resultType: string}}
    to: met
  also:
    from: shouted
    via:
      - {type: transformValue, mapper: {expression: "1/0 if value == 'also!' else value", resultType: string}}
    to: b
"""


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("fine", [("a", "fine"), ("b", "fine!"), ("met", "fine!fine")]),
        ("alone", [("b", "alone!"), ("met", "alone!alone")]),
        ("meets", [("a", "meets"), ("b", "meets!")]),
        ("also", [("a", "also"), ("met", "also!also")]),
        ("table", [("a", "table"), ("b", "table!"), ("met", "table!first")]),
    ],
)
def test_pipelines_of_a_topic_that_is_joined_with_itself_are_independent(
    value: str, sent: list[tuple[str, str]]
) -> None:
    run = driver(JOINED)
    assert len(run.pipe("k", "first", "src")) == 3
    assert sorted((entry.topic, entry.value) for entry in run.pipe("k", value, "src")) == sent
    assert [error.value for error in run.driver.errors] == ([] if value == "fine" else [value.encode()])
    after = sorted((entry.topic, entry.value) for entry in run.pipe("k", "next", "src"))
    assert after == [("a", "next"), ("b", "next!"), ("met", "next!next")]


def fail_for_bad(_: str, value: str) -> str:
    if value == "bad":
        raise ValueError(value)
    return value


def test_failed_pipeline_removes_its_pending_join_records() -> None:
    def build(t: Topology) -> None:
        stream = t.stream("src", str)
        isolate(stream.node)
        mapped = stream.map_values(lambda _, value: value, str)
        table = stream.to_table(store="rows").map_values(lambda _, value: value, str)
        mapped.join(table, lambda one, other: f"{one}-{other}", str).to("met")
        mapped.map_values(fail_for_bad, str).to("a")

    driver = Driven(build).driver
    assert [(entry.topic, entry.value) for entry in driver.pipe("k", "first", "src")] == [
        ("a", "first"),
        ("met", "first-first"),
    ]
    assert driver.pipe("k", "bad", "src") == []
    assert len(driver.errors) == 1
    assert [entry.value for entry in driver.pipe("k", "next", "src")] == ["next", "next-next"]
