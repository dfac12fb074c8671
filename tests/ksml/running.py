"""KSML definitions on the test driver."""

from __future__ import annotations

import textwrap
from typing import Any

from forebay.ksml.compile import Definitions, KsmlSettings, definitions
from forebay.ksml.definition import definition_of
from forebay.ksml.driver import KsmlDriver
from forebay.ksml.errors import KsmlError
from forebay.ksml.schemas import SchemaFiles

NUMBERS = """
streams:
  numbers: {topic: numbers, keyType: string, valueType: json}
  results: {topic: results, keyType: string, valueType: json}
"""


def definition(text: str) -> Definitions:
    """Return the parsed definition of a text."""
    return definitions([definition_of(textwrap.dedent(text), "test.yaml")], SchemaFiles([]))


def driver(text: str, tasks: int = 1, **settings: int) -> KsmlDriver:
    """Return the test driver of a definition."""
    return KsmlDriver(definition(text), KsmlSettings(**settings), tasks)


def through(via: str, *records: Any, more: str = "") -> KsmlDriver:
    """Run operations from `numbers` to `results` over records (key, value) or (key, value, timestamp)."""
    steps = textwrap.indent(textwrap.dedent(via), "      ")
    text = (
        f"{NUMBERS}{textwrap.dedent(more)}\npipelines:\n  main:\n    from: numbers\n    via:{steps}\n    to: results\n"
    )
    run = driver(text)
    for number, record in enumerate(records):
        key, value, *at = record
        run.pipe(key, value, "numbers", at[0] if at else number)
    return run


def results(run: KsmlDriver) -> list[tuple[Any, Any]]:
    """Return keys and values of the output records."""
    return [(sent.key, sent.value) for sent in run.sent]


def refusal(text: str) -> str:
    """Return the reason why a definition is rejected."""
    try:
        driver(text)
    except KsmlError as error:
        return str(error)
    raise AssertionError("the definition was taken")
