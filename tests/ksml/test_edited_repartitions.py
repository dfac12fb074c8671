"""An edited definition reads unread records of its repartition topics in their original format, or refuses them."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.runtime.errors import FormatChanged
from tests.ksml.running import driver
from tests.unread import carry_unread

MOVED = """
streams:
  numbers: {{topic: numbers, keyType: string, valueType: json}}
  results: {{topic: results, keyType: {key}, valueType: {value}}}
pipelines:
  main:
    from: numbers
    via:
      - type: map
        name: mapped
        mapper: {{code: 'return ({made})', resultType: '({key}, {value})'}}
      - type: repartition
        name: moved
    to: results
"""


def program(key: str = "string", value: str = "long", made: str = "key, 1") -> str:
    return MOVED.format(key=key, value=value, made=made)


def read(before: str, after: str) -> list[tuple[Any, Any]]:
    """Return the results of an edited definition for the unread repartition record of the earlier one."""
    old, new = driver(before), driver(after)
    old.driver.pipe("5", {"n": 1}, "numbers", 1)
    assert not old.driver.errors
    carry_unread(old.driver, new.driver)
    assert not new.driver.errors
    return [(sent.key, sent.value) for sent in new.driver.outputs]


AS_JSON = program(value="json", made='key, {"n": 1}')


def test_the_same_definition_reads_them() -> None:
    assert len(read(program(), program())) == 1
    assert len(read(AS_JSON, AS_JSON.replace('"n": 1', '"n": 2'))) == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (program(), program(value="double", made="key, 1.0")),
        (program(), program(value="int")),
        (program(), AS_JSON),
        (program(), program(key="long", made="int(key), 1")),
        (program("int", made="int(key), 1"), program("long", made="int(key), 1")),
    ],
)
def test_records_with_an_incompatible_format_are_refused(before: str, after: str) -> None:
    with pytest.raises(FormatChanged, match=r"-repartition-0 holds .*, but is declared with .* would be misread"):
        read(before, after)
