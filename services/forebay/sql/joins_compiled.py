"""The step of a plan that joins, in the DSL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.formats import Format
from forebay.formats.identities import values_of
from forebay.operators.results import Alone, Tombstones
from forebay.sql.computed import row_of
from forebay.sql.nodes import in_windows, is_windowed
from forebay.sql.plan import Joined
from forebay.sql.values import RowCodec, row_identity
from forebay.stores.materialized import derived_store
from forebay.time import JoinWindows

if TYPE_CHECKING:
    from forebay.sql.compile import Compiler

DAY_MS = 86_400_000
_SIDES = ("left", "right")


def compile_join(compiler: Compiler, step: Joined, name: str) -> Any:
    """Return the joined rows of both sides."""
    left, right = compiler.step(step.left, name), compiler.step(step.right, name)
    if step.window_ms and isinstance(right, Stream):
        right = Stream(
            right.graph, right.graph.add(in_windows(right.node, left.node.key, step.window_ms)), right.is_rekeyed
        )
    into = _combine(left.node.value, right.node.value)
    joiner = _joiner(*step.lengths)
    store = compiler.name(f"{name} join")
    if step.foreign_key is not None:
        result = _by_foreign_key(left, right, step, joiner, into, store)
        _record_expressions(result, {derived_store(store, "subscriptions"): step.by[0]})
        return result
    verb = {"INNER": "join", "LEFT": "left_join", "FULL": "outer_join"}[step.kind]
    if step.within is None:
        return getattr(left, verb)(right, joiner, into)
    before, after = step.within
    # A join without GRACE PERIOD uses the deprecated `JoinWindows.of` in ksqlDB, whose grace is 24 hours.
    windows = JoinWindows(before, after, DAY_MS if step.grace_ms is None else step.grace_ms)
    how: dict[str, Any] = {"windows": windows, "store": store}
    if step.kind != "INNER" and step.grace_ms is None:
        # With that old default, an unmatched row is emitted at once. It may be followed by a match, as in ksqlDB.
        how["alone"] = Alone.AT_ONCE
    result = getattr(left, verb)(right, joiner, into, **how)
    _record_expressions(result, {derived_store(store, side): by for side, by in zip(_SIDES, step.by, strict=True)})
    return result


def _record_expressions(result: Any, expressions: Mapping[str, str]) -> None:
    """Let stores record the expressions that their rows are found by. Rows under another one would join others.

    Args:
        expressions: by the stores' names.
    """
    for node in result.graph.nodes:
        for store in node.stores:
            if store.name in expressions:
                key = node.parents[0].key.identity if store.key_identity is None else store.key_identity
                store.key_identity = values_of(expressions[store.name], key)


def _by_foreign_key(left: Any, right: Any, step: Joined, joiner: Any, into: Any, store: str) -> Any:
    assert isinstance(left, Table)
    assert isinstance(right, Table)
    assert step.foreign_key is not None
    make = row_of([step.foreign_key], windowed=is_windowed(left))

    def key_of(key: Any, row: Any) -> Any:
        result = make(key, row)
        return None if result[0] is None else result

    verb = left.join_by_foreign_key if step.kind == "INNER" else left.left_join_by_foreign_key
    # ksqlDB's results contain the tombstones that Kafka Streams sends for rows that were never joined.
    return verb(right, key_of, joiner, into, store=store, tombstones=Tombstones.ALWAYS)


def _joiner(left: int, right: int) -> Callable[[Any, Any], Any]:
    no_left, no_right = (None,) * left, (None,) * right
    return lambda one, other: (no_left if one is None else one) + (no_right if other is None else other)


def _combine(left: Any, right: Any) -> Any:
    """Return the format of joined rows, made of the formats of both sides."""

    def codec(contracts: Any) -> Any:
        one, other = left.codec(contracts), right.codec(contracts)
        assert isinstance(one, RowCodec)
        assert isinstance(other, RowCodec)
        return one.widen(other.hints)

    layout = (*(f"left {item}" for item in left.layout), *(f"right {item}" for item in right.layout))
    return Format(f"{left.name} and {right.name}", tuple, codec, layout=layout, identify=row_identity(layout))
