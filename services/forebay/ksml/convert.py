"""Conversion between types, for `convertValue`, `convertKey`, and topics with another type than their stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from forebay.ksml.formats import Formats
from forebay.ksml.markup import of_csv, of_xml, to_csv, to_xml
from forebay.ksml.types import ANY, STRING, Type
from forebay.ksml.values import WHOLE_BITS, WrongType, plain, taker_of, text_of, window_struct, windowed_of

_STRUCTS = frozenset({"any", "struct", "map", "list", "tuple", "union", "windowed"})


def converter(source: Type, target: Type, formats: Formats) -> Callable[[Any], Any] | None:
    """Return a function that converts values, or raises WrongType; None if no conversion is needed."""
    if source == target or (target.kind == "any" and not target.notation):
        return None
    convert = _converter(source, target, formats)
    take = taker_of(target)
    if source.notation == "avro":
        return lambda value: None if value is None else take(convert(_strip_schema(value)))
    return lambda value: None if value is None else take(convert(value))


def _strip_schema(value: Any) -> Any:
    """Return an Avro struct without name and text of its schema."""
    if not isinstance(value, dict):
        return value
    # KSML adds these to Avro structs for functions. Written out, they would be fields of the new value.
    return {name: item for name, item in value.items() if name not in ("@type", "@schema")}


def _converter(source: Type, target: Type, formats: Formats) -> Callable[[Any], Any]:
    if target.kind == "string":
        return _to_text(source, formats)
    if target.kind == "windowed" and not target.notation:
        return windowed_of
    if target.kind in _STRUCTS:
        return _to_struct(target, formats)
    if target.kind in WHOLE_BITS:
        return _to_whole(WHOLE_BITS[target.kind])
    if target.kind == "boolean":
        return _boolean
    if target.kind == "bytes":
        return lambda value: value if isinstance(value, bytes) else text_of(value).encode()
    return lambda value: value


def _to_text(source: Type, formats: Formats) -> Callable[[Any], str]:
    if source.notation == "xml":
        return lambda value: to_xml(value, source.name.rpartition(".")[2])
    if source.notation == "csv":
        columns = formats.schemas.columns(source.name) if source.name else ()
        return lambda value: to_csv(value, columns)
    return lambda value: value.decode() if isinstance(value, bytes) else text_of(value)


def _to_struct(target: Type, formats: Formats) -> Callable[[Any], Any]:
    """Return a function that converts a value and, as KSML does, each item of a list, map or tuple."""
    parts = [converter(ANY, part, formats) or _same for part in target.parts]
    if target.kind == "list":
        return lambda value: _each(parts[0], _struct(value, target, formats))
    if target.kind == "map" and parts:
        return lambda value: _each(parts[0], _struct(value, target, formats))
    if target.kind == "tuple":
        return lambda value: _both(parts, _struct(value, target, formats))
    return lambda value: _struct(value, target, formats)


def _each(convert: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {name: convert(item) for name, item in value.items()}
    return [convert(item) for item in value] if isinstance(value, list) else value


def _both(parts: list[Callable[[Any], Any]], value: Any) -> Any:
    if not isinstance(value, list | tuple) or len(value) != len(parts):
        return value
    return [convert(item) for convert, item in zip(parts, value, strict=True)]


def _same(value: Any) -> Any:
    return value


def _struct(value: Any, target: Type, formats: Formats) -> Any:
    if target.kind == "windowed" or not isinstance(value, str | bytes):
        return window_struct(value)
    text = value.decode() if isinstance(value, bytes) else value
    if target.kind == "union" and STRING in target.parts:
        return text
    if target.kind == "tuple" and text.startswith("(") and text.endswith(")"):
        text = f"[{text[1:-1]}]"
    if target.notation == "xml":
        return of_xml(text)
    if target.notation == "csv":
        return of_csv(text, formats.schemas.columns(target.name) if target.name else ())
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        if target.kind == "any" and target.notation == "json":
            return plain(value)
        raise WrongType(f"{text[:80]!r} is not JSON: {error}") from error


def _to_whole(bits: int) -> Callable[[Any], Any]:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def cut(value: Any) -> Any:
        """Cut off a number's fraction. Leave other values unchanged for the check of the type."""
        return int(value) if isinstance(value, float) and low <= value <= high else value

    return cut


def _boolean(value: Any) -> Any:
    return {"true": True, "false": False}.get(value.lower(), value) if isinstance(value, str) else value
