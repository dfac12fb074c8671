"""Conversion of a query's columns to those of the stream that INSERT INTO writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.sql.bound import BoundColumn
from forebay.sql.catalog import Named, Source
from forebay.sql.plan import Projected, Rekeyed, Step, TypedExpression
from forebay.sql.relation import Relation
from forebay.sql.syntax import Column


def widen_step(step: Step, keys: Sequence[Named], target: Source, relation: Relation) -> Step:
    """Return rows whose keys and values are converted to the target's types."""
    assert isinstance(step, Projected)
    columns = tuple(_as(code, named, relation) for code, named in zip(step.columns, target.values, strict=True))
    rows = replace(step, columns=columns, into=target.values)
    same = all(one.type == other.type for one, other in zip(keys, target.keys, strict=True))
    if same or relation.windowing is not None:  # such a key keeps its window, and its columns as they are
        return rows
    codes = tuple(
        _as(TypedExpression(BoundColumn(place, one.type, one.name), one.name), other, relation)
        for at, (one, other) in enumerate(zip(keys, target.keys, strict=True))
        if (place := f"(k and k[{at}])")
    )
    return Rekeyed(rows, codes, target.keys, target.encoding.key_kind, alone=codes)


def _as(expression: TypedExpression, named: Named, relation: Relation) -> TypedExpression:
    if expression.type == named.type:
        return expression
    result = relation.binder().cast(expression.bound, named.type, Column(named.name))
    return TypedExpression(result, f"CAST({expression.text} AS {named.type})")
