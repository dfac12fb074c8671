"""KSML's test definitions run on the test driver. Each test has separate stores."""

from __future__ import annotations

from pathlib import Path

import pytest

from forebay.ksml.errors import KsmlError
from forebay.ksml.suites import run_suite

DEFINITION = """
streams:
  numbers: {topic: numbers, keyType: string, valueType: long}
  sums: {topic: sums, keyType: string, valueType: long}
stores:
  totals: {type: keyValue, keyType: string, valueType: long}
pipelines:
  main:
    from: numbers
    via:
      - type: mapValues
        mapper:
          stores: [totals]
          code: |
            totals.put(key, (totals.get(key) or 0) + value)
          expression: totals.get(key)
          resultType: long
    to: sums
"""
SUITE = """
name: sums
definition: sums.yaml
streams:
  numbers: {topic: numbers, keyType: string, valueType: long}
  sums: {topic: sums, keyType: string, valueType: long}
tests:
  adds:
    description: numbers are added
    produce:
      - to: numbers
        messages:
          - {key: a, value: 1, timestamp: 5}
          - {key: a, value: 2}
    assert:
      - on: sums
        code: |
          assert [each["value"] for each in records] == [1, 3]
          assert records[0]["timestamp"] == 5
      - stores: [totals]
        code: assert totals.get("a") == 3
  fails:
    produce:
      - to: numbers
        generator: {code: "return 'b', 7", resultType: "(string, long)"}
        count: 2
    assert:
      - on: sums
        code: |
          assert len(records) == 3, f"got {len(records)}"
  breaks:
    produce: [{to: numbers, messages: [{key: a, value: 1}]}]
    assert: [{on: sums, code: records.gone}]
"""


def suite(folder: Path, text: str = SUITE) -> Path:
    (folder / "sums.yaml").write_text(DEFINITION)
    file = folder / "sums-test.yaml"
    file.write_text(text)
    return file


def test_suite_results_are_pass_fail_or_error(tmp_path: Path) -> None:
    results = list(run_suite(suite(tmp_path)))
    assert [(item.test, item.outcome) for item in results] == [
        ("numbers are added", "PASS"),
        ("fails", "FAIL"),
        ("breaks", "ERROR"),
    ]
    assert results[1].reason == "AssertionError: got 2"
    assert "AttributeError: 'list' object has no attribute 'gone' (sums-test.yaml:33)" in results[2].reason


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("to: numbers\n        messages", "to: gone\n        messages", "there is no stream 'gone'"),
        ("tests:", "test:", "test is not a key of a test suite"),
        ("definition: sums.yaml", "definition: gone.yaml", "the file can't be read"),
        ("stores: [totals]", "stores: [gone]", "no pipeline of the definition uses a store 'gone'"),
        ("sums: {topic: sums", "sums: {topic: numbers", "numbers is the topic of two streams"),
        ("stores: [totals]", "stores: []", "an assert block needs something to check"),
        ("on: sums\n", "stores: null\n", "an assert block needs something to check"),
        ("  adds:", "  adds up:", "'adds up' can't be a name under tests"),
        ("  adds:", "  1st:", "'1st' can't be a name under tests"),
        ("  sums: {topic", "  sums-: {topic", "'sums-' can't be a name under streams"),
        ("on: sums", "on: gone", "there is no stream 'gone'"),
        ('{code: "return', '{name: 42, code: "return', "name of a generator is 42, which is not text"),
        ("        count: 2", "        messages: []", "has messages: or generator:, one of them"),
        (
            "    description: numbers are added\n",
            "    definition: sums.yaml\n",
            "definition is not a key of the test",
        ),
        ("valueType: long}\n  sums", "valueType: avro}\n  sums", "valueType avro has no schema in a test"),
    ],
)
def test_a_bad_suite_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(KsmlError, match=message):
        list(run_suite(suite(tmp_path, SUITE.replace(old, new))))


@pytest.mark.parametrize("section", ["streams", "tests"])
def test_a_suite_without_streams_or_tests_is_refused(tmp_path: Path, section: str) -> None:
    head, tests = SUITE.split("tests:")
    name, streams = head.split("streams:")
    text = f"{name}tests:{tests}" if section == "streams" else f"{name}streams:{streams}"
    with pytest.raises(KsmlError, match=f"a test suite has no {section}: add {section}:"):
        list(run_suite(suite(tmp_path, text)))


def test_a_record_that_fails_in_a_function_is_an_error_of_its_test(tmp_path: Path) -> None:
    broken = DEFINITION.replace("expression: totals.get(key)", "expression: totals.get(key) // (value - 2)")
    (tmp_path / "sums.yaml").write_text(broken)
    (tmp_path / "test.yaml").write_text(SUITE)
    results = list(run_suite(tmp_path / "test.yaml"))
    assert results[0].outcome == "ERROR"
    assert "division" in results[0].reason
