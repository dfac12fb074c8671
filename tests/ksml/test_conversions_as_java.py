"""Texts are converted to numbers, and doubles to texts, as in Java, so that values are the same as in KSML."""

from __future__ import annotations

import math

import pytest

from forebay.ksml.driver import KsmlDriver
from tests.ksml.running import driver


def convert(value: object, source: str, into: str) -> KsmlDriver:
    run = driver(
        f"""
streams: {{numbers: {{topic: numbers, keyType: string, valueType: {source}}}}}
pipelines:
  main: {{from: numbers, via: [{{type: convertValue, into: {into}}}], to: {{topic: results}}}}
"""
    )
    run.pipe("a", value, "numbers")
    return run


@pytest.mark.parametrize(
    ("text", "into", "expected"),
    [
        ("+5", "int", 5),
        ("-9223372036854775808", "long", -(1 << 63)),
        (" 1e3 ", "double", 1000.0),
        ("-.5", "double", -0.5),
        ("\u0661", "int", 1),
        ("5d", "double", 5.0),
        ("0x1p3", "double", 8.0),
        ("1e400", "double", math.inf),
        ("-Infinity", "double", -math.inf),
    ],
)
def test_a_text_that_java_parses(text: str, into: str, expected: object) -> None:
    assert [sent.value for sent in convert(text, "string", into).sent] == [expected]


@pytest.mark.parametrize(
    ("text", "into"),
    [
        *((text, "int") for text in ("1_000", " 12 ", "12.0", "0x10", "", "2147483648")),
        *((text, "double") for text in ("1_0.5", "nan", "inf", "infinity", "", "\u0661", "\u00a05")),
    ],
)
@pytest.mark.parametrize("source", ["string", "json"])
def test_a_text_that_java_does_not_parse_goes_to_errors(text: str, into: str, source: str) -> None:
    run = convert(text, source, into)
    assert (run.sent, [failure.headers["error.class"] for failure in run.driver.errors]) == ([], ["WrongType"])


@pytest.mark.parametrize(
    ("value", "source", "into"),
    [
        (math.inf, "double", "long"),
        (math.nan, "double", "long"),
        (float(1 << 63), "double", "long"),
        (127.5, "double", "byte"),
        (-32768.5, "double", "short"),
        (2147483647.5, "double", "int"),
        *((True, "json", kind) for kind in ("byte", "int", "long", "double")),
        (1, "json", "boolean"),
        (" true", "string", "boolean"),
        ([True], "json", "list(long)"),
    ],
)
def test_what_ksml_does_not_convert_goes_to_errors(value: object, source: str, into: str) -> None:
    run = convert(value, source, into)
    assert (run.sent, [failure.headers["error.class"] for failure in run.driver.errors]) == ([], ["WrongType"])


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0"), (-0.0, "-0.0"), (1e21, "1.0E21"), (1e-5, "1.0E-5"), (math.nan, "NaN"), (math.inf, "Infinity")],
)
def test_a_double_is_written_as_java_writes_it(value: float, text: str) -> None:
    assert [sent.value for sent in convert(value, "double", "string").sent] == [text]


@pytest.mark.parametrize(
    ("value", "source", "into", "expected"),
    [
        (1.9, "double", "long", 1),
        (-1.9, "double", "int", -1),
        ("TRUE", "string", "boolean", True),
        ([1.9, "2"], "json", "list(long)", [1, 2]),
        ({"a": "true"}, "json", "map(boolean)", {"a": True}),
        ("(1, 2.5)", "string", "'(long, long)'", [1, 2]),
        ("5", "string", "'union(long, string)'", "5"),
        (5, "json", "'union(string, long)'", 5),
        ("[1]", "string", "'union(long, list(long))'", [1]),
        ("5", "string", "'union(boolean, long)'", 5),
    ],
)
def test_parts_of_values_are_converted_as_values(value: object, source: str, into: str, expected: object) -> None:
    assert [sent.value for sent in convert(value, source, into).sent] == [expected]
