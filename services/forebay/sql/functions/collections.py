"""Functions of arrays, maps and structs, those with functions written in place among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql.arithmetic import text_of_double
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import first, function, item_of, special
from forebay.sql.generate import Generator, Typed
from forebay.sql.syntax import Call, Expression, Lambda
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    INT,
    NULL,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
    common,
)


def identity(value: Any) -> Any:
    """Return what tells values apart, also those that can't be hashed."""
    if isinstance(value, dict):
        return frozenset((key, identity(each)) for key, each in value.items())
    return tuple(map(identity, value)) if isinstance(value, tuple) else value


def distinct(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return each value once, in order of the first."""
    return tuple({identity(value): value for value in values}.values())


def ordered(values: Sequence[Any], direction: str = "ASC") -> tuple[Any, ...]:
    """Return the values in order, nulls last."""
    given = sorted((value for value in values if value is not None), reverse=direction.upper().startswith("DESC"))
    return (*given, *(None for value in values if value is None))


def joined(values: Sequence[Any] | None, separator: str | None = ",") -> str | None:
    """Return the values as one text; without a separator they follow one another."""
    return None if values is None else (separator or "").join(_text(value) for value in values)


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return text_of_double(value) if isinstance(value, float) else str(value)


def sliced(values: Sequence[Any], start: int | None, stop: int | None) -> tuple[Any, ...]:
    """Return the items from one number to another, both counted from 1 and inclusive."""
    return tuple(values[(start or 1) - 1 : len(values) if stop is None else stop])


def united(one: Sequence[Any] | None, other: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the distinct items of both; None where one is null."""
    return None if one is None or other is None else distinct((*one, *other))


def without(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct items of the first that the second has not."""
    taken = {identity(value) for value in other}
    return distinct([value for value in one if identity(value) not in taken])


def shared(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    """Return the distinct items that both have."""
    taken = {identity(value) for value in other}
    return distinct([value for value in one if identity(value) in taken])


def concatenated(one: Sequence[Any] | None, other: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Return the items of both; a null is none of them."""
    return None if one is None and other is None else (*(one or ()), *(other or ()))


MOST_NUMBERS = 1_000_000
"""That a series has: far beyond what a record holds."""


def series(start: int, stop: int, step: int | None = None) -> tuple[int, ...]:
    """Return the numbers from one to another, both inclusive. Raises ValueError."""
    by = step if step is not None else 1 if stop >= start else -1
    if by == 0 or (stop - start) * by < 0:
        raise ValueError("the step must lead from the start to the end")
    if (stop - start) // by >= MOST_NUMBERS:
        raise ValueError(f"a series has {MOST_NUMBERS} numbers at most")
    return tuple(range(start, stop + (1 if by > 0 else -1), by))


def split_to_map(text: str, entries: str, pairs: str) -> dict[str, str] | None:
    """Return the map that a text of entries and pairs is; None without marks."""
    if not entries or not pairs:
        return None
    parts = (entry.partition(pairs) for entry in text.split(entries) if entry)
    return {key: value for key, mark, value in parts if mark}


def united_maps(one: dict[Any, Any] | None, other: dict[Any, Any] | None) -> dict[Any, Any] | None:
    """Return the entries of both; of a key that both have, the second's."""
    return None if one is None and other is None else {**(one or {}), **(other or {})}


def as_map(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    """Return the map of keys and their values."""
    return {key: values[at] if at < len(values) else None for at, key in enumerate(keys)}


def transform_map(values: dict[Any, Any], key: Callable[..., Any], value: Callable[..., Any]) -> dict[Any, Any]:
    """Return the map with each key and value made anew."""
    return {key(k, v): value(k, v) for k, v in values.items()}


def reduced(values: Any, state: Any, step: Callable[..., Any]) -> Any:
    """Return the state after each item, or each entry."""
    if state is None:
        return None
    entries = [(key, values[key]) for key in values] if isinstance(values, dict) else [(each,) for each in values or ()]
    for entry in entries:
        state = step(state, *entry)
    return state


@special("TRANSFORM", 2, 3)
def _transform(make: Generator, call: Call) -> Typed:
    subject = make.of(call.arguments[0])
    made = [_function(each) for each in call.arguments[1:]]
    match subject.type:
        case ArrayType(item) if len(made) == 1:
            step = make.function([item], made[0])
            return make.applied(f"tuple(map({_plain(step)}, {{0}}))", [subject], ArrayType(step.type))
        case MapType(key, value) if len(made) == 2:
            keys, values = (make.function([key, value], each) for each in made)
            name = make.constant(transform_map)
            return make.applied(
                f"{name}({{0}}, {_plain(keys)}, {_plain(values)})", [subject], MapType(keys.type, values.type)
            )
    raise SqlError(call.place, "write TRANSFORM(array, x => ...) or TRANSFORM(map, (k, v) => ..., (k, v) => ...)")


@special("FILTER", 2, 2)
def _filter(make: Generator, call: Call) -> Typed:
    subject = make.of(call.arguments[0])
    made = _function(call.arguments[1])
    match subject.type:
        case ArrayType(item):
            step = make.function([item], made)
            return make.applied(f"tuple(filter({_plain(step)}, {{0}}))", [subject], subject.type)
        case MapType(key, value):
            step = make.function([key, value], made)
            name = make.constant(lambda values, keeps: {k: v for k, v in values.items() if keeps(k, v)})
            return make.applied(f"{name}({{0}}, {_plain(step)})", [subject], subject.type)
    raise SqlError(call.place, "write FILTER(array, x => ...) or FILTER(map, (k, v) => ...)")


@special("REDUCE", 3, 3)
def _reduce(make: Generator, call: Call) -> Typed:
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
    step = make.function(parts, _function(call.arguments[2]))
    name = make.constant(reduced)
    return Typed(f"{name}({subject.source}, {state.source}, {step.source})", state.type)


def _function(given: Expression) -> Lambda:
    if not isinstance(given, Lambda):
        raise SqlError(given.place, "write a function here: x => ...")
    return given


def _plain(step: Typed) -> str:
    return step.source.replace("{", "{{").replace("}", "}}")


@special("ARRAY_CONTAINS", 2, 2)
def _contains(make: Generator, call: Call) -> Typed:
    values, sought = (make.of(each) for each in call.arguments)
    return Typed(
        f"({make.constant(_has)}({values.source}, {sought.source}))" if values.type != NULL else "False", BOOLEAN
    )


def _has(values: Sequence[Any] | None, sought: Any) -> bool:
    return values is not None and any(identity(each) == identity(sought) for each in values)


@special("ARRAY_REMOVE", 2, 2)
def _remove(make: Generator, call: Call) -> Typed:
    values, sought = (make.of(each) for each in call.arguments)
    return Typed(f"{make.constant(_left)}({values.source}, {sought.source})", values.type)


def _left(values: Sequence[Any] | None, sought: Any) -> tuple[Any, ...] | None:
    return None if values is None else tuple(each for each in values if each != sought)


@special("COALESCE IFNULL", 1)
def _coalesce(make: Generator, call: Call) -> Typed:
    sources, kind = make.alike([make.of(each) for each in call.arguments], call)
    sources = [make.attempted(source) for source in sources]
    made = sources[-1]
    for source in reversed(sources[:-1]):
        name, test = make.once(source)
        made = f"({name} if {test or name} is not None else {made})"
    return Typed(made, kind)


@special("NULLIF", 2, 2)
def _nullif(make: Generator, call: Call) -> Typed:
    (one, other), kind = make.alike([make.of(each) for each in call.arguments], call)
    name, test = make.once(one)
    return Typed(f"(None if {test or name} == {other} else {name})", kind)


@special("ELT", 2)
def _elt(make: Generator, call: Call) -> Typed:
    number = make.of(call.arguments[0])
    sources, kind = make.alike([make.of(each) for each in call.arguments[1:]], call)
    listed = "(" + "".join(f"{each}, " for each in sources).replace("{", "{{").replace("}", "}}") + ")"
    name = make.constant(lambda values, at: values[at - 1] if 0 < at <= len(values) else None)
    return make.applied(f"{name}({listed}, {{0}})", [number], kind)


@special("FIELD", 1)
def _field(make: Generator, call: Call) -> Typed:
    sources = [make.of(each).source for each in call.arguments]
    name = make.constant(
        lambda sought, *values: 0 if sought is None or sought not in values else values.index(sought) + 1
    )
    return Typed(f"{name}({', '.join(sources)})", INT)


@special("AS_VALUE", 1, 1)
def _as_value(make: Generator, call: Call) -> Typed:
    return make.of(call.arguments[0])


def _map_of_items(types: list[SqlType]) -> SqlType:
    if not isinstance(types[1], ArrayType):
        raise TypeError("the values must be an ARRAY")
    return MapType(STRING, types[1].item)


def _both(types: list[SqlType]) -> SqlType:
    found = common(types[0], types[1])
    if found is None:
        raise TypeError(f"{types[0]} and {types[1]} don't go together: CAST one")
    return found


def _entries(types: list[SqlType]) -> SqlType:
    return ArrayType(StructType((("K", STRING), ("V", _map(types).value))))


def _map(types: list[SqlType]) -> MapType:
    kind = types[0]
    if not isinstance(kind, MapType):
        raise TypeError("a NULL is no MAP: CAST it")
    return kind


def _entry_list(values: dict[str, Any], is_sorted: bool = False) -> tuple[Any, ...]:
    return tuple(sorted(values.items(), key=lambda entry: entry[0])) if is_sorted else tuple(values.items())


function("ARRAY_LENGTH", "a", INT, lambda values: 0 if values is None else len(values), takes_null=True)
function("ARRAY_DISTINCT", "a", first, distinct)
function("ARRAY_EXCEPT", "a a", first, without)
function("ARRAY_INTERSECT", "a a", first, shared)
function("ARRAY_UNION", "a a", _both, united, takes_null=True)
function("ARRAY_CONCAT", "a a", _both, concatenated, takes_null=True)
function("ARRAY_MAX", "a", item_of, lambda values: max((v for v in values if v is not None), default=None))
function("ARRAY_MIN", "a", item_of, lambda values: min((v for v in values if v is not None), default=None))
function("ARRAY_SORT", "a s?", first, ordered)
function("ARRAY_JOIN", "a s?", STRING, joined, takes_null=True)
function("SLICE", "a i? i?", first, sliced)
function("CARDINALITY", "a", INT, len)
function("CARDINALITY", "m", INT, len)
function("ENTRIES", "m b", _entries, _entry_list)
function("GENERATE_SERIES", "i i i?", ArrayType(INT), series)
function("GENERATE_SERIES", "l l l?", ArrayType(BIGINT), series)
function("AS_MAP", "as a", _map_of_items, as_map)
function("MAP_KEYS", "m", lambda types: ArrayType(_map(types).key), tuple)
function("MAP_VALUES", "m", lambda types: ArrayType(_map(types).value), lambda values: tuple(values.values()))
function("MAP_UNION", "m m", _both, united_maps, takes_null=True)
function("SPLIT_TO_MAP", "s s s", MapType(STRING, STRING), split_to_map)
