"""Compilation of a plan's join step to the DSL."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from forebay.builder.nodes import Kind, Node
from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.formats import Format
from forebay.formats.identities import values_of
from forebay.operators.results import Alone, Tombstones
from forebay.sql.computed import row_of
from forebay.sql.former_rows import describe_rows
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
    """Return the joined rows of a join step."""
    left, right = compiler.step(step.left, name), compiler.step(step.right, name)
    if step.window_ms and isinstance(right, Stream):
        right = Stream(
            right.graph, right.graph.add(in_windows(right.node, left.node.key, step.window_ms)), right.is_rekeyed
        )
    into = _combine(left.node.value, right.node.value)
    joiner = _joiner(*step.lengths)
    store = compiler.name(f"{name} join")
    earlier = frozenset(left.graph.nodes)
    if step.foreign_key is not None:
        result = _by_foreign_key(left, right, step, joiner, into, store)
        # The foreign key of a former row, which is computed again, finds the subscription that must be canceled.
        former = describe_rows(step.left, [step.foreign_key], compiler.step_of)
        expression = f"{step.by[0]} of rows {former}" if former else step.by[0]
        _record_expressions(result, {derived_store(store, "subscriptions"): expression})
        _record_in_repartitions(dict.fromkeys(_new_repartitions(result, earlier), expression))
        return result
    verb = {"INNER": "join", "LEFT": "left_join", "FULL": "outer_join"}[step.kind]
    if step.within is None:
        # A repartition before a stream-table join is named after the result. By default it would be named after the
        # table, with a number that depends on the other joins with this table.
        how: dict[str, Any] = {"name": store} if isinstance(left, Stream) else {}
        result = getattr(left, verb)(right, joiner, into, **how)
        _record_in_repartitions(_sides(left, right, step, _new_repartitions(result, earlier)))
        return result
    before, after = step.within
    # A join without GRACE PERIOD uses the deprecated `JoinWindows.of` in ksqlDB, whose grace is 24 hours.
    windows = JoinWindows(before, after, DAY_MS if step.grace_ms is None else step.grace_ms)
    how = {"windows": windows, "store": store}
    if step.kind != "INNER" and step.grace_ms is None:
        # With that old default, an unmatched row is emitted at once. It may be followed by a match, as in ksqlDB.
        how["alone"] = Alone.AT_ONCE
    result = getattr(left, verb)(right, joiner, into, **how)
    _record_in_repartitions(_sides(left, right, step, _new_repartitions(result, earlier)))
    _record_expressions(result, {derived_store(store, side): by for side, by in zip(_SIDES, step.by, strict=True)})
    return result


def _record_expressions(result: Any, expressions: Mapping[str, str]) -> None:
    """Let stores record the join expressions, because rows that were stored for another expression would join wrongly.

    Args:
        result: The joined stream or table.
        expressions: Expressions by name of the store.
    """
    for node in result.graph.nodes:
        for store in node.stores:
            if store.name in expressions:
                key = node.parents[0].key.identity if store.key_identity is None else store.key_identity
                store.key_identity = values_of(expressions[store.name], key)


def _record_in_repartitions(expressions: Mapping[Node, str]) -> None:
    """Let repartitions record their join expressions, as stores do: their unread records would join wrongly."""
    for node, expression in expressions.items():
        identity = values_of(expression, node.key.identity)
        object.__setattr__(node, "key", replace(node.key, identify=partial(_constant, identity)))


def _new_repartitions(result: Any, earlier: Collection[Node]) -> list[Node]:
    # Repartitions from before the join belong to other statements, and have recorded their expressions.
    return [node for node in result.graph.of_kind(Kind.REPARTITION) if node not in earlier]


def _sides(left: Any, right: Any, step: Joined, repartitions: Iterable[Node]) -> dict[Node, str]:
    by = {left.node: step.by[0], right.node: step.by[1]}
    return {node: by[node.parents[0]] for node in repartitions if node.parents[0] in by}


def _constant(value: Any) -> Any:
    return value


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
    """Return the format of joined rows from the formats of both sides."""

    def codec(contracts: Any) -> Any:
        one, other = left.codec(contracts), right.codec(contracts)
        assert isinstance(one, RowCodec)
        assert isinstance(other, RowCodec)
        return one.widen(other.hints)

    layout = (*(f"left {item}" for item in left.layout), *(f"right {item}" for item in right.layout))
    return Format(f"{left.name} and {right.name}", tuple, codec, layout=layout, identify=row_identity(layout))
