"""SQL of any depth is parsed, or rejected with the name of its file. A long condition does not count as deep."""

from __future__ import annotations

import pytest

from forebay.views import ViewError
from tests.views.sources import new_record, view

pytestmark = pytest.mark.long


def where(condition: str) -> str:
    return f"CREATE MATERIALIZED VIEW v AS SELECT area, COUNT(*) AS n FROM readings WHERE {condition} GROUP BY area"


@pytest.mark.parametrize(
    "condition",
    [
        "(" * 2_000 + "level > 1" + ")" * 2_000,
        "NOT " * 2_000 + "valid",
        "level > " + "-" * 2_000 + "1",
        "(" * 2_000,
    ],
    ids=["parentheses", "negations", "signs", "never closed"],
)
def test_too_deep_nesting_is_refused_with_the_files_name(condition: str) -> None:
    with pytest.raises(ViewError, match=r"^v\.sql: .*(nested too deeply|line 1)"):
        view(where(condition))


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_a_condition_of_many_parts_is_no_deep_one(word: str) -> None:
    keeps = view(where(f" {word} ".join(["level > 1"] * 3_000))).where
    assert keeps is not None
    levels = (2, 1, None)
    assert [keeps(new_record(level=level)) for level in levels] == [True, False, None]


def test_a_list_of_many_values_is_no_deep_one() -> None:
    keeps = view(where(f"level IN ({', '.join(map(str, range(3_000)))})")).where
    assert keeps is not None
    assert (keeps(new_record(level=2_999)), keeps(new_record(level=3_000)), keeps(new_record(level=None))) == (
        True,
        False,
        None,
    )
