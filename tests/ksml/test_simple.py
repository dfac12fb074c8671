"""Expressions that only read their arguments are recognized, because they need no copies and no time limit."""

from __future__ import annotations

import ast

import pytest

from forebay.ksml.simple import only_looks
from tests.ksml.running import results, through


@pytest.mark.parametrize(
    ("expression", "looks"),
    [
        ("value is not None", True),
        ("value['a'] > 3 and not key == 'b'", True),
        ("value.get('a', 0) in (1, 2)", False),
        ("value.get('a', 0) == -1 or True", True),
        ("value.get('a').get('b') < 2", True),
        ("value.pop('a')", False),
        ("value.get(key)", False),
        ("value.get(default='a')", False),
        ("counter > 3", False),
        ("[each for each in value]", False),
        ("(value := 3) > 2", False),
        ("value * 10", False),
        ("value[key] > 1", False),
        ("lambda: value", False),
        ("f'{value}' == 'a'", False),
    ],
)
def test_read_only_expressions_are_recognized(expression: str, looks: bool) -> None:
    assert only_looks(ast.parse(expression, mode="eval").body, ("key", "value")) is looks


def test_results_share_nothing_with_arguments() -> None:
    run = through(
        """
        - {type: mapValues, mapper: {expression: "value['inner']", resultType: json}}
        - type: peek
          forEach:
            code: value["n"] = 2
        - {type: filter, if: {expression: "value['n'] == 1"}}
        """,
        ("a", {"inner": {"n": 1}}),
    )
    assert results(run) == [("a", {"n": 1})]
