"""Descriptions of the fields of record classes, for identities."""

from __future__ import annotations

import types
import typing
from typing import Any

from forebay.records import fields_of, is_record_type


def shape_of(kind: Any) -> str:
    """Return the fields of a record class and their types as text; "" if they can't be read."""
    try:
        return _shape(kind, ())
    except (NameError, TypeError):
        return ""


def _shape(kind: Any, within: tuple[Any, ...]) -> str:
    if is_record_type(kind) and kind not in within:
        hints = typing.get_type_hints(kind)
        return f"({', '.join(f'{name} {_shape(hints.get(name), (*within, kind))}' for name in fields_of(kind))})"
    parts = ", ".join(_shape(part, within) for part in typing.get_args(kind))
    origin = typing.get_origin(kind) or kind
    # The two spellings of a union have different names, depending on the release of Python.
    name = "Union" if origin is types.UnionType else getattr(origin, "__name__", "any")
    return f"{name}[{parts}]" if parts else name
