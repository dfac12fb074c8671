"""If logic mutates values, a restart after each record does not change the results."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from forebay.builder import Stream, Table, Topology
from forebay.formats import Format, simple
from forebay.operators import Fold, UntilTimeLimit
from forebay.processor import Context, Processor
from forebay.serde.json_format import JSON
from forebay.stores import KeyValueStore
from forebay.testing import TestDriver
from forebay.time import SessionWindows, SlidingWindows, tumbling, within

PICKLED: Format[Any] = simple("pickled", object, pickle.dumps, pickle.loads)

Describe = Callable[[Topology, Format[Any]], Stream[Any, Any]]


def grow(_key: str, value: Any, seen: Any) -> Any:
    """Append to the aggregate in place if it is a list. A value "bad" raises after that."""
    if isinstance(seen, list):
        seen.append(value)
        if value == [["bad"]]:
            raise ValueError("a bad value")
        return seen
    if value == [["bad"]]:
        raise ValueError("a bad value")
    return [*seen, value]


def both(_key: str, one: Any, other: Any) -> Any:
    return [*one, *other]


FOLD: Fold[Any, Any] = Fold(list, grow, lambda _, value, seen: list(seen)[1:], both)


def lists(t: Topology, kind: Format[Any], topic: str = "in") -> Stream[str, Any]:
    return t.stream(topic, str).map_values(lambda _, text: [[text]], kind)


def rows(t: Topology, kind: Format[Any], topic: str = "in") -> Table[str, Any]:
    return lists(t, kind, topic).to_table(store=f"rows-{topic}")


def kinds(one: Any, other: Any) -> Any:
    """Return the values' texts, and mutate the values."""
    result = [repr(one), repr(other)]
    for item in (one, other):
        if isinstance(item, list):
            item.append("changed by the joiner")
    return result


class Keeps(Processor[Any, Any]):
    store = KeyValueStore[Any]("kept", JSON)

    def __init__(self, kind: Format[Any]) -> None:
        self.store = KeyValueStore("kept", kind)

    def process(self, event: Any, ctx: Context[Any]) -> None:
        before = self.store.get(ctx.key)
        self.store.put(ctx.key, event)
        if isinstance(event, list):
            event.append("later")
        if isinstance(before, list):
            before.append("later")
        ctx.forward([repr(before), repr(self.store.get(ctx.key))])


OPERATORS: dict[str, Describe] = {
    "aggregate": lambda t, kind: lists(t, kind).group_by_key().aggregate(FOLD, kind, store="s").to_stream(),
    "reduce": lambda t, kind: lists(t, kind).group_by_key().reduce(lambda a, b: [*a, *b], store="s").to_stream(),
    "mapped aggregate": lambda t, kind: (
        lists(t, kind)
        .group_by_key()
        .aggregate(FOLD, kind, store="s")
        .map_values(lambda _, seen: [repr(seen)], kind)
        .to_stream()
    ),
    "windows": lambda t, kind: (
        lists(t, kind).group_by_key().windowed_by(tumbling(10)).aggregate(FOLD, kind, store="s").to_stream()
    ),
    "sliding": lambda t, kind: (
        lists(t, kind).group_by_key().windowed_by(SlidingWindows(5)).aggregate(FOLD, kind, store="s").to_stream()
    ),
    "sessions": lambda t, kind: (
        lists(t, kind).group_by_key().windowed_by(SessionWindows(5)).aggregate(FOLD, kind, store="s").to_stream()
    ),
    "table": lambda t, kind: rows(t, kind).map_values(lambda _, row: [repr(row)], kind).to_stream(),
    "kept table": lambda t, kind: (
        rows(t, kind).map_values(lambda _, row: [row], kind).materialized("s").map_values(kinds, kind).to_stream()
    ),
    "regrouped table": lambda t, kind: (
        rows(t, kind).group_by(lambda *_: "g", str).aggregate(FOLD, kind, store="s").to_stream()
    ),
    "suppress": lambda t, kind: (
        rows(t, kind).suppress(UntilTimeLimit(1), store="s").map_values(kinds, kind).to_stream()
    ),
    "joined tables": lambda t, kind: rows(t, kind).join(rows(t, kind, "other"), kinds, kind).to_stream(),
    "joined streams": lambda t, kind: lists(t, kind).left_join(
        lists(t, kind, "other"), kinds, kind, windows=within(5), store="s"
    ),
    "joined with a table": lambda t, kind: lists(t, kind).join(rows(t, kind, "other"), kinds, kind),
    "joined with a history": lambda t, kind: lists(t, kind).left_join(
        lists(t, kind, "other").to_table(store="o", history_retention_ms=9), kinds, kind, grace_ms=2, waiting="w"
    ),
    "by a foreign key": lambda t, kind: (
        rows(t, kind).join_by_foreign_key(rows(t, kind, "other"), lambda *_: "k", kinds, kind, store="s").to_stream()
    ),
    "processor": lambda t, kind: lists(t, kind).process(lambda: Keeps(kind), kind, name="keeps"),
}
RECORDS = [
    ("other", "k", "x", 1),
    ("in", "k", "a", 1),
    ("in", "k", "b", 2),
    ("in", "k", "bad", 3),
    ("other", "k", "y", 4),
    ("in", "k", "c", 4),
    ("in", "k", "d", 9),
]


def outcome(describe: Describe, kind: Format[Any], *, restarts: bool) -> tuple[list[Any], list[str]]:
    t = Topology()
    describe(t, kind).to("out")
    driver = TestDriver(t)
    for topic, key, value, at in RECORDS:
        if any(topic in sub_topology.definition.inputs for sub_topology in driver.sub_topologies):
            driver.pipe(key, value, topic, at)
        if restarts:
            driver.restart()
    outputs = [(str(output.key), repr(output.value), output.timestamp) for output in driver.outputs]
    return outputs, [error.headers["error.message"] for error in driver.errors]


@pytest.mark.parametrize("kind", [JSON, PICKLED], ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_restart_after_each_record_changes_nothing(name: str, kind: Format[Any]) -> None:
    plain = outcome(OPERATORS[name], kind, restarts=False)
    assert plain[0]
    assert outcome(OPERATORS[name], kind, restarts=True) == plain


def test_a_record_that_fails_has_not_changed_the_aggregate_it_was_added_to() -> None:
    outputs, errors = outcome(OPERATORS["aggregate"], PICKLED, restarts=False)
    assert errors == ["a bad value"]
    assert outputs[-1] == ("k", "[[['a']], [['b']], [['c']], [['d']]]", 9)


def test_operators_behind_an_aggregate_get_the_stored_value() -> None:
    (_, first, _), *_ = outcome(OPERATORS["mapped aggregate"], JSON, restarts=False)[0]
    assert first == repr(("((('a',),),)",))
