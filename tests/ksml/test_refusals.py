"""Invalid definitions are rejected before anything starts, with file, line, and the correction."""

from __future__ import annotations

import re

import pytest

from tests.ksml.running import NUMBERS, driver, refusal, results

PIPELINE = "pipelines:\n  main:\n    from: numbers\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "test.yaml:1: the file is empty"),
        ("a: [1", "invalid YAML"),
        ("- a\n- b\n", "test.yaml:1: a definition has keys at its top"),
        ("streems: {}\n", "test.yaml:1: streems is not a key of a definition: write streams"),
        ("streams:\n  a: {topic: t}\nstreams:\n  b: {topic: t}\n", "test.yaml:3: the key streams occurs twice"),
        ("streams: &a\n  b: *a\n", "an anchor contains itself"),
        (
            f"{NUMBERS}{PIPELINE}    via:\n      - type: filtre\n",
            "test.yaml:9: 'filtre' is not an operation: write filter",
        ),
        (f"{NUMBERS}{PIPELINE}    via:\n      - type: filter\n", "test.yaml:9: the operation filter has no if"),
        (f"{NUMBERS}{PIPELINE}    to: nowhere\n", "test.yaml:8: there is no stream or table 'nowhere'"),
        ("pipelines:\n  main:\n    from: numbers\n", "test.yaml:3: there is no stream, table or pipeline 'numbers'"),
        ("streams:\n  a: {topic: t, keyType: strin, valueType: json}\n", "'strin' is not a type"),
        (
            "streams:\n  a: {topic: t, keyType: string, valueType: avro}\npipelines:\n  p: {from: a}\n",
            "test.yaml:2: the schema of t-value is the registry's, and none is named: write avro:NameOfTheSchema",
        ),
        ("stores:\n  a: {type: keyvalue}\n", "'keyvalue' is not a type of stores: write keyValue"),
        (
            "stores:\n  a: {type: window, retention: soon}\n",
            "'soon' is not a duration: write a number and one of ms s m",
        ),
        (
            "functions:\n  f: {type: predikate, expression: 1}\n",
            "'predikate' is not a type of functions: write predicate",
        ),
        (
            "functions:\n  f:\n    type: predicate\n    code: |\n      x = 1\n      if x\n        pass\n",
            "test.yaml:6: code is not valid Python",
        ),
        ("functions:\n  f:\n    type: predicate\n    expression: a b\n", "test.yaml:4: expression is not valid Python"),
        ("functions:\n  f:\n    type: reducer\n    stores: [a]\n    code: pass\n", "a reducer can't use stores"),
        (
            "pipelines:\n  a: {from: b, as: one}\n  b: {from: a, as: two}\n",
            "the pipelines a -> b -> a form a cycle",
        ),
    ],
)
def test_a_refusal_names_place_and_remedy(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("via", "message"),
    [
        ("- {type: count}", "count takes a grouped stream or table, but this is a stream: put groupByKey before"),
        ("- {type: groupByKey}", "to takes a stream, but this is a grouped stream"),
        ("- {type: peek, forEach: f}", "there is no function 'f' (none is defined)"),
        ("- {type: merge, stream: other}", "there is no stream 'other'"),
        ("- {type: join, valueJoiner: {expression: value1}}", "a join has one other side"),
        ("- {type: convertKey, into: protobuf:Gone}", "there is no schema Gone.proto in no folder"),
    ],
)
def test_an_operation_that_does_not_fit_names_its_line(via: str, message: str) -> None:
    result = refusal(f"{NUMBERS}pipelines:\n  main:\n    from: numbers\n    via:\n      {via}\n    to: results\n")
    assert message in result
    assert result.startswith(("test.yaml:9:", "test.yaml:10:", "test.yaml:7:"))


def test_a_function_of_another_kind_is_refused() -> None:
    text = f"""{NUMBERS}
functions:
  f: {{type: reducer, expression: value1}}
pipelines:
  main: {{from: numbers, via: [{{type: filter, if: f}}], to: results}}
"""
    assert "f is a reducer, but a predicate is called here" in refusal(text)


def test_undefined_store_is_reported() -> None:
    text = f"""{NUMBERS}
functions:
  f: {{type: predicate, stores: [gone], expression: "True"}}
pipelines:
  main: {{from: numbers, via: [{{type: filter, if: f}}], to: results}}
"""
    assert "there is no store 'gone' (none is defined)" in refusal(text)


def test_anchors_and_merges_are_expanded() -> None:
    text = """
streams:
  numbers: &typed {topic: numbers, keyType: string, valueType: json}
  results: {<<: *typed, topic: results}
functions:
  big: &big {type: predicate, expression: value > 1}
  small: {<<: [*big, *typed_function], expression: value < 3}
pipelines:
  main: {from: numbers, via: [{type: filter, if: big}, {type: filter, if: small}], to: results}
"""
    run = driver(text.replace(", *typed_function", ""))
    for value in (1, 2, 3):
        run.pipe("a", value, "numbers")
    assert results(run) == [("a", 2)]
    assert "test.yaml:7: invalid YAML: found undefined alias 'typed_function'" in refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("streams:\n  a: {<<: 5, topic: t}\n", "test.yaml:2: <<: takes an alias of an object: write <<: *name"),
        ("streams:\n  ? [a]\n  : 1\n", "test.yaml:2: a key is not text: write name: value"),
        ("streams: {a: {topic: !!python/name:os.system x}}\n", "test.yaml:1: 'x' can't be read"),
        ("streams: {a: {topic: 2024-99-99}}\n", "test.yaml:1: '2024-99-99' can't be read"),
        ("hello\n", "test.yaml:1: a definition has keys at its top"),
        ("kind: Deployment\nmetadata: {name: a}\n", "test.yaml:1: kind is not a key of a definition"),
        ("streams: [a]\n", "streams holds names: write name: and what it is below it"),
        ("streams:\n\ta: 1\n", "test.yaml:2: invalid YAML"),
        ("{}\n", "test.yaml:1: nothing is defined"),
    ],
)
def test_yaml_that_is_no_definition_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.long
def test_nested_alias_expansion_is_limited() -> None:
    layers = "".join(f"  l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert "expands to more than 200000 values: use fewer anchors" in refusal(f"streams:\n  l0: &l0 [1]\n{layers}")


def test_functions_that_call_each_other_in_a_circle_send_the_record_to_errors() -> None:
    text = f"""{NUMBERS}
functions:
  one: {{type: valueTransformer, expression: "two(key, value)", resultType: json}}
  two: {{type: valueTransformer, expression: "one(key, value)", resultType: json}}
pipelines:
  main: {{from: numbers, via: [{{type: mapValues, mapper: one}}], to: results}}
"""
    run = driver(text)
    run.pipe("a", 1, "numbers")
    (refused_record,) = run.driver.errors
    # The line at which the recursion limit is reached depends on the depth of the caller's stack.
    assert re.search(r"function one, its line \d: RecursionError", refused_record.headers["error.message"])
    assert not run.sent


def test_streams_and_pipelines_may_make_a_circle_of_topics() -> None:
    text = f"""{NUMBERS}
pipelines:
  there: {{from: numbers, via: [{{type: filter, if: {{expression: value < 3}}}}], to: results}}
  back:
    from: results
    via: [{{type: mapValues, mapper: {{expression: value + 1, resultType: json}}}}]
    to: numbers
"""
    run = driver(text)
    run.pipe("a", 1, "numbers")
    assert [(sent.topic, sent.value) for sent in run.sent] == [
        ("results", 1),
        ("numbers", 2),
        ("results", 2),
        ("numbers", 3),
    ]
