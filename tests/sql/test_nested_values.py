"""Binding a nested ARRAY, MAP or STRUCT binds each of its parts a fixed number of times."""

from __future__ import annotations

from typing import Any

import pytest

from forebay.sql.binding import Binder
from tests.sql.driven import Driven, stream

NESTED = {
    "ARRAY": "ARRAY[{}]",
    "ARRAY behind a NULL": "ARRAY[NULL, {}]",
    "MAP": "MAP('a' := {})",
    "STRUCT": "STRUCT(a := {})",
    "CASE": "CASE WHEN n > 0 THEN ARRAY[{}] END",
}
MOST_BOUND = 400


@pytest.mark.parametrize("kind", NESTED)
@pytest.mark.parametrize("inner", ["n", "ARRAY[1, n], ARRAY['1', 2]"])
def test_binding_cost_does_not_double_with_each_nesting_level(
    kind: str, inner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "," in inner and not kind.startswith("ARRAY"):
        inner = f"ARRAY[{inner}]"
    text = inner
    for _ in range(10):
        text = NESTED[kind].format(text)
    bound, original = [], Binder.of

    def of(self: Binder, expression: Any) -> Any:
        bound.append(expression)
        return original(self, expression)

    monkeypatch.setattr(Binder, "of", of)
    driven = Driven(stream("k STRING KEY, n INT") + f"CREATE STREAM o AS SELECT k, {text} AS x FROM s;")
    assert len(bound) < MOST_BOUND
    assert driven.send("in", "a", {"n": 5})
    assert not driven.driver.errors
