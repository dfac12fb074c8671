"""Decoding of rows of release 0.2, in which the keys of maps are always texts."""

from __future__ import annotations

import types
from typing import Any, get_args

import msgspec

_WORDS = {"true": True, "false": False}


def decode_text_keys(data: bytes, hint: Any) -> Any:
    """Return a row from MessagePack whose maps have texts as keys, as a value of a type.

    Raises:
        msgspec.DecodeError, ValueError: The row is not of this type.
    """
    return msgspec.convert(_with_words(msgspec.msgpack.decode(data), hint), hint, str_keys=True)


def _with_words(value: Any, hint: Any) -> Any:
    """Return a value with its keys `null`, `true` and `false` converted, which msgspec does not do."""
    if isinstance(hint, types.UnionType):
        hint = get_args(hint)[0]
    parts = get_args(hint)
    if isinstance(value, dict) and parts:
        key, inner = parts
        return {_key(name, get_args(key)): _with_words(part, inner) for name, part in value.items()}
    if isinstance(value, list) and parts:
        hints = parts[:1] * len(value) if parts[-1] is Ellipsis else parts
        return [_with_words(part, item) for part, item in zip(value, hints, strict=True)]
    return value


def _key(name: Any, kinds: tuple[Any, ...]) -> Any:
    if str in kinds or not isinstance(name, str):
        return name
    if name == "null":
        return None
    return _WORDS.get(name.lower(), name) if bool in kinds else name
