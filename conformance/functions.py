"""The functions that cases can name, which are aggregates, groupings and value joiners."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from conformance.cases import BadCase, fields
from forebay.operators.results import Join
from forebay.testing.cell import Json

_APPEND = re.compile(r"append '(.*)'\+value")
_PLACE = re.compile(r"\{(left|right)\}")

_JOINS = {"inner": Join.INNER, "left": Join.LEFT, "outer": Join.OUTER}


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate of JSON values."""

    initial: Json
    add: Callable[[Json, Json], Json]
    subtract: Callable[[Json, Json], Json]
    merge: Callable[[Json, Json], Json]


def text_of(value: Json) -> str:
    """Return the representation of a value in a text."""
    return "null" if value is None else str(value)


def aggregate(spec: Json) -> Aggregate:
    """Return the aggregate with a name, or the aggregate of an object with kind, initial, add and subtract."""
    if isinstance(spec, str):
        return _named_aggregate(spec, {})
    options = fields("aggregate", spec, {"kind"}, {"initial", "add", "subtract"})
    return _named_aggregate(options["kind"], options)


def _named_aggregate(kind: Json, options: dict[str, Json]) -> Aggregate:
    if kind == "count":
        return Aggregate(options.get("initial", 0), lambda a, _: a + 1, lambda a, _: a - 1, lambda a, b: a + b)
    if kind == "sum":
        initial = options.get("initial", 0)
        return Aggregate(initial, lambda a, v: a + _number(v), lambda a, v: a - _number(v), lambda a, b: a + b)
    if kind in ("text", "text0"):
        initial = options.get("initial", "0" if kind == "text0" else "")
        add, subtract = (
            _append(options.get("add", "append '+'+value")),
            _append(options.get("subtract", "append '-'+value")),
        )
        return Aggregate(initial, add, subtract, lambda a, b: a + b[len(initial) :])
    if kind == "chars":
        return Aggregate(
            options.get("initial", ""),
            lambda a, v: a + text_of(v),
            lambda a, v: a.replace(text_of(v), "", 1),
            lambda a, b: a + b,
        )
    raise BadCase(f"unknown aggregate {kind!r}")


def _append(rule: str) -> Callable[[Json, Json], Json]:
    match = _APPEND.fullmatch(rule)
    if match is None:
        raise BadCase(f"unknown rule of an aggregate: {rule!r}")
    sign = match[1]
    return lambda a, v: f"{a}{sign}{text_of(v)}"


def _number(value: Json) -> Json:
    return float(value) if isinstance(value, str) and "." in value else int(value) if isinstance(value, str) else value


def grouping(name: Json) -> Callable[[Json, Json], tuple[Json, Json] | None]:
    """Return a grouping function. It returns the group and the value of a row, or None to drop the row."""
    if name == "key":
        return lambda key, value: (key, value)
    if name == "value":
        return lambda _, value: (value, value)
    if name == "value_unless_key_null":
        return lambda key, value: None if key in ("null", "NULL") else (value, value)
    if name == "first_char_of_key":
        return lambda key, value: (key[0], key[1:2] or value)
    raise BadCase(f"unknown group_by {name!r}")


def joiner(template: Json) -> Callable[[Json, Json], Json]:
    """Return a value joiner, from a text with {left} and {right} or from "qty*price"."""
    if template == "qty*price":
        return _bill
    if not isinstance(template, str) or not _PLACE.search(template):
        raise BadCase(f"unknown value_joiner {template!r}")
    return lambda left, right: _PLACE.sub(lambda m: text_of(left if m[1] == "left" else right), template)


def _bill(order: Json, price: Json) -> Json:
    return {"customer": order["customer"], "bill": None if price is None else order["qty"] * price}


def join_kind(name: Json) -> Join:
    """Return the kind of join."""
    if name not in _JOINS:
        raise BadCase(f"unknown join {name!r}")
    return _JOINS[name]
