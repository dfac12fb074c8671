"""Functions for arrays and maps that call a lambda for each item: TRANSFORM, FILTER and REDUCE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import special
from forebay.sql.limits import count_call
from forebay.sql.syntax import Call, Expression, Lambda
from forebay.sql.types import BOOLEAN, NULL, ArrayType, MapType, SqlType, common


def transform(values: Sequence[Any], step: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Return the results of a lambda for the items. Raises LimitReached."""
    results = []
    for value in values:  # not `map`, for which a lambda's StopIteration is the end
        count_call()
        results.append(step(value))
    return tuple(results)


def transform_map(values: dict[Any, Any], key: Callable[..., Any], value: Callable[..., Any]) -> dict[Any, Any]:
    """Return the map of the results of two lambdas, for the key and the value of each entry.

    Raises:
        ValueError: Two entries have the same new key, or a new value is null. Java's collector refuses both.
        LimitReached: It takes too long.
    """
    results: dict[Any, Any] = {}
    for k, v in values.items():
        count_call()
        name, item = key(k, v), value(k, v)
        if item is None or name in results:
            # `Collectors.toMap` refuses a null value and a duplicate key.
            raise ValueError(f"the entry {name!r} has no value, or occurs twice")
        results[name] = item
    return results


def filter_items(values: Sequence[Any], keeps: Callable[[Any], bool | None]) -> tuple[Any, ...]:
    """Return the items for which a condition is true. Raises TypeError if it is null for an item, and LimitReached."""
    return tuple(value for value in values if _decide(keeps(value)))


def filter_entries(values: dict[Any, Any], keeps: Callable[[Any, Any], bool | None]) -> dict[Any, Any]:
    """Return the entries for which a condition is true. Raises TypeError if it is null for an entry, LimitReached."""
    return {key: value for key, value in values.items() if _decide(keeps(key, value))}


def _decide(answer: bool | None) -> bool:
    count_call()
    if answer is None:
        # Java unboxes the result of the lambda, which fails for null. The whole call is then null, as in ksqlDB.
        raise TypeError("the condition of FILTER is null")
    return answer


def reduce(values: Any, state: Any, step: Callable[..., Any]) -> Any:
    """Return the state after each item, or each entry. Raises LimitReached."""
    if state is None:
        return None
    entries = values.items() if isinstance(values, dict) else ((item,) for item in values or ())
    for entry in entries:
        count_call()
        state = step(state, *entry)
    return state


@special("TRANSFORM", 2, 3)
def _transform(make: Binder, call: Call) -> Bound:
    subject = make.of(call.arguments[0])
    results = [_lambda(argument) for argument in call.arguments[1:]]
    match subject.type:
        case ArrayType(item) if len(results) == 1:
            step = make.function([item], results[0])
            return make.call(call.name, transform, [subject, step], ArrayType(step.type), (0,))
        case MapType(key, value) if len(results) == 2:
            keys, values = (make.function([key, value], item) for item in results)
            kind = MapType(keys.type, values.type)
            return make.call(call.name, transform_map, [subject, keys, values], kind, (0,))
    raise SqlError(call.place, "write TRANSFORM(array, x => ...) or TRANSFORM(map, (k, v) => ..., (k, v) => ...)")


@special("FILTER", 2, 2)
def _filter(make: Binder, call: Call) -> Bound:
    subject = make.of(call.arguments[0])
    result = _lambda(call.arguments[1])
    match subject.type:
        case ArrayType(item):
            step = _condition(make.function([item], result), call)
            return make.call(call.name, filter_items, [subject, step], subject.type, (0,))
        case MapType(key, value):
            step = _condition(make.function([key, value], result), call)
            return make.call(call.name, filter_entries, [subject, step], subject.type, (0,))
    raise SqlError(call.place, "write FILTER(array, x => ...) or FILTER(map, (k, v) => ...)")


@special("REDUCE", 3, 3)
def _reduce(make: Binder, call: Call) -> Bound:
    subject, state = make.of(call.arguments[0]), make.of(call.arguments[1])
    match subject.type:
        case ArrayType(item):
            parts: list[SqlType] = [state.type, item]
        case MapType(key, value):
            parts = [state.type, key, value]
        case _:
            raise SqlError(
                call.place, "write REDUCE(array, start, (state, x) => ...), or of a map (state, k, v) => ..."
            )
    step = make.function(parts, _lambda(call.arguments[2]))
    if step.type != state.type:  # the state has the type that both widen to
        kind = common(state.type, step.type)
        if kind is None:
            raise SqlError(
                call.place, f"the state is {state.type} and becomes {step.type}: CAST one to the other's type"
            )
        state = make.cast(state, kind, call)
        # Generate the lambda again, because its types depend on the state's type.
        step = make.function([kind, *parts[1:]], _lambda(call.arguments[2]), kind)
    return make.call(call.name, reduce, [subject, state, step], state.type)


def _condition(step: Bound, call: Call) -> Bound:
    if step.type not in (BOOLEAN, NULL):
        raise SqlError(
            call.place, f"the function of FILTER returns {step.type}, not a condition: compare it with something"
        )
    return step


def _lambda(given: Expression) -> Lambda:
    if not isinstance(given, Lambda):
        raise SqlError(given.place, "write a function here: x => ...")
    return given
