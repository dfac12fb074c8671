"""Conversion of the arguments and results of functions: private copies of the declared types."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec

from forebay.builder.keys import Windowed
from forebay.ksml.parsing import float_of, number_or_text, whole_of
from forebay.ksml.types import Type
from forebay.sql.arithmetic import text_of_double
from forebay.time.base import Window

Taker = Callable[[Any], Any]

WHOLE_BITS = {"byte": 8, "short": 16, "int": 32, "long": 64}
_IMMUTABLE = frozenset({*WHOLE_BITS, "boolean", "float", "double", "bytes", "string", "null", "enum"})


class WrongType(TypeError):
    """A value has another type than declared."""


def plain(value: Any) -> Any:
    """Return a private copy of a JSON value: dicts with text keys, lists, texts, numbers, booleans, None.

    Raises:
        WrongType: it contains anything else.
    """
    try:
        return msgspec.to_builtins(value, str_keys=True, builtin_types=(bytes,))
    except (TypeError, ValueError, RecursionError) as error:
        raise WrongType(f"{type(value).__name__} can't be a value: {error}") from error


def giver_of(kind: Type) -> Callable[[Any], Any] | None:
    """Return a function that converts a value for a function that may change it; None: no conversion is needed."""
    return viewer_of(kind) or (None if kind.kind in _IMMUTABLE else plain)


def viewer_of(kind: Type) -> Callable[[Any], Any] | None:
    """Return a function that converts a value for a function that only reads it; None: no conversion is needed."""
    return window_struct if kind.kind == "windowed" and not kind.notation else None


def window_struct(key: Any) -> Any:
    """Return the struct of a windowed key for functions."""
    if not isinstance(key, Windowed):
        return plain(key)
    start, end = key.window.start, key.window.end
    return {"start": start, "end": end, "startTime": instant(start), "endTime": instant(end), "key": key.key}


def windowed_of(struct: Any) -> Windowed[Any]:
    """Return the windowed key of a struct from a function. Raises WrongType."""
    if isinstance(struct, Windowed):
        return struct
    try:
        return Windowed(struct["key"], Window(int(struct["start"]), int(struct["end"])))
    except (TypeError, KeyError, ValueError) as error:
        raise WrongType(f"{struct!r} is not a key with a window: it needs key, start and end") from error


def instant(ms: int) -> str:
    """Return a time as java.time.Instant prints it."""
    import datetime  # noqa: PLC0415 (windowed keys only)

    seconds, rest = divmod(ms, 1_000)
    try:
        text = datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    except (OverflowError, ValueError, OSError):
        return str(ms)
    return f"{text}.{rest:03d}Z" if rest else f"{text}Z"


def taker_of(kind: Type) -> Taker:
    """Return a function that checks and converts the result of a function, or raises WrongType. None stays None."""
    take = _taker(kind)
    return lambda value: None if value is None else take(value)


def _taker(kind: Type) -> Taker:
    name = kind.kind
    if name in WHOLE_BITS:
        return _whole(name)
    taker = _TAKERS.get(name)
    if taker is not None:
        return taker
    if name == "enum":
        return _enum(kind)
    if name == "list":
        return _list(taker_of(kind.parts[0]))
    if name == "map" and kind.parts:
        return _map(taker_of(kind.parts[0]))
    if name == "tuple":
        return _tuple(kind, [taker_of(part) for part in kind.parts])
    if name == "union":
        return _union(kind, [taker_of(part) for part in kind.parts])
    if name == "windowed":
        return plain if kind.notation else windowed_of
    return _json if kind.notation == "json" else plain


def _whole(name: str) -> Taker:
    bound = 1 << (WHOLE_BITS[name] - 1)

    def take(value: Any) -> int:
        if value.__class__ is float and value.is_integer():
            value = int(value)
        # KSML accepts the text of a number if a number is declared.
        elif value.__class__ is str:
            value = number_or_text(whole_of, value)
        if value.__class__ is not int:
            raise WrongType(f"{value!r} is {_name(value)}, not {name}")
        if not -bound <= value < bound:
            raise WrongType(f"{value} is too large for {name}")
        return int(value)

    return take


def _number(value: Any) -> float:
    if value.__class__ is str:
        value = number_or_text(float_of, value)
    if value.__class__ not in (int, float):
        raise WrongType(f"{value!r} is {_name(value)}, not double")
    return float(value)


def _boolean(value: Any) -> bool:
    if value.__class__ is not bool:
        raise WrongType(f"{value!r} is {_name(value)}, not boolean")
    return bool(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    return text_of(value)


def _bytes(value: Any) -> bytes:
    if isinstance(value, list | tuple):
        # Java's bytes are signed, so a list of them may hold -1 for 0xff.
        return bytes(number % 256 for number in value)
    if not isinstance(value, bytes | bytearray | memoryview):
        raise WrongType(f"{value!r} is {_name(value)}, not bytes")
    return bytes(value)


def _json(value: Any) -> Any:
    """Return a JSON value. A text that contains a JSON object or list is parsed, as in KSML."""
    if value.__class__ is str and value[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except msgspec.DecodeError:
            return value
    return plain(value)


def _struct(value: Any) -> Any:
    fields = _json(value)
    if not isinstance(fields, dict):
        raise WrongType(f"{value!r} is {_name(value)}, not a struct")
    return fields


def _nothing(value: Any) -> Any:
    raise WrongType(f"{value!r} is {_name(value)}, not null")


_CLASSES: dict[str, type[Any]] = {
    **dict.fromkeys(WHOLE_BITS, int),
    **dict.fromkeys(("map", "struct"), dict),
    "float": float,
    "double": float,
    "boolean": bool,
    "string": str,
    "bytes": bytes,
    "list": list,
}
"""The Python classes of values, by the kinds of their types."""
_TAKERS: dict[str, Taker] = {
    "float": _number,
    "double": _number,
    "boolean": _boolean,
    "string": _text,
    "bytes": _bytes,
    "struct": _struct,
    "null": _nothing,
}


def _enum(kind: Type) -> Taker:
    def take(value: Any) -> str:
        if value not in kind.symbols:
            raise WrongType(f"{value!r} is not one of {', '.join(kind.symbols)}")
        return str(value)

    return take


def _list(take: Taker) -> Taker:
    def convert(value: Any) -> list[Any]:
        if not isinstance(value, list | tuple):
            raise WrongType(f"{value!r} is {_name(value)}, not a list")
        return [take(item) for item in value]

    return convert


def _map(take: Taker) -> Taker:
    return lambda value: {name: take(item) for name, item in _struct(value).items()}


def _tuple(kind: Type, takes: list[Taker]) -> Taker:
    def convert(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple) or len(value) != len(takes):
            raise WrongType(f"{value!r} is {_name(value)}, not {kind}")
        return tuple([take(item) for take, item in zip(takes, value, strict=True)])

    return convert


def _union(kind: Type, takes: list[Taker]) -> Taker:
    def convert(value: Any) -> Any:
        # Try the member with the value's own type first. Others may convert the value, such as a number to text.
        members = zip([_CLASSES.get(part.kind) for part in kind.parts], takes, strict=True)
        for _, take in sorted(members, key=lambda member: member[0] is not value.__class__):
            try:
                return take(value)
            except WrongType:
                continue
        raise WrongType(f"{value!r} is {_name(value)}, not {kind}")

    return convert


def text_of(value: Any) -> str:
    """Return the text of a value: a double as Java writes it, a struct or list as JSON. Raises WrongType."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return text_of_double(value)
    if isinstance(value, int | str):
        return str(value)
    if isinstance(value, Windowed):
        value = window_struct(value)
    return json_bytes(value).decode()


def json_bytes(value: Any) -> bytes:
    """Return a value's JSON, with fields sorted by name, without spaces. Raises WrongType."""
    try:
        # Sorted fields give equal values equal bytes, on which the partition of a JSON key depends.
        data = msgspec.json.encode(value, order="sorted")
    except (TypeError, ValueError, RecursionError) as error:
        try:
            data = msgspec.json.encode(plain(value), order="sorted")
        except (TypeError, ValueError) as other:
            raise WrongType(f"{value!r} is not JSON: {other}") from error
    # The encoder writes NaN and infinities as null. Only a text that contains null needs the slow check.
    if b"null" in data:
        check_finite(value)
    return data


def check_finite(value: Any) -> None:
    """Raise WrongType for numbers that JSON can't represent."""
    if isinstance(value, float) and not math.isfinite(value):
        raise WrongType(f"{value} is not a number of JSON")
    if isinstance(value, dict):
        for item in value.values():
            check_finite(item)
    elif isinstance(value, list | tuple):
        for item in value:
            check_finite(item)


def _name(value: Any) -> str:
    return type(value).__name__
