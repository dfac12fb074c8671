"""Access to the native codec, if it was built. Without it, encoding and decoding take ten times as long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from forebay.utils.native import load_native

if TYPE_CHECKING:
    from forebay.serde import native

Native: TypeAlias = "type[native.Codec]"

Row = tuple[bytes, bytes | None]
EncodeRows = Callable[[list[Row]], bytes | None]
DecodeRows = Callable[[bytes], list[Row] | None]


def native_codec() -> Native | None:
    """Return the native codec's class, or None if the extension was not built."""
    return None if _NATIVE is None else _NATIVE.Codec


def native_rows() -> tuple[EncodeRows, DecodeRows]:
    """Return the functions that encode and decode blocks of rows. They return None if the Python codec must do it."""
    return (_nothing, _nothing) if _NATIVE is None else (_NATIVE.encode_rows, _NATIVE.decode_rows)


def _nothing(_: Any) -> None:
    return None


_NATIVE = load_native("forebay.serde.native")
