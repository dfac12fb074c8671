"""The native codec, where it could be built. Everything works without it, at a tenth of the speed."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from forebay.serde import native

Native: TypeAlias = "type[native.Codec]"

Row = tuple[bytes, bytes | None]
EncodeRows = Callable[[list[Row]], bytes | None]
DecodeRows = Callable[[bytes], list[Row] | None]

SWITCH = "FOREBAY_NATIVE"
"""Environment variable: `off` leaves the native codec out, `required` makes its absence an error."""


def native_codec() -> Native | None:
    """Return the native codec's class; None where there is none."""
    return None if _NATIVE is None else _NATIVE.Codec


def native_rows() -> tuple[EncodeRows, DecodeRows]:
    """Return what encodes and decodes blocks of rows; both give None where somebody else has to do it."""
    return (_nothing, _nothing) if _NATIVE is None else (_NATIVE.encode_rows, _NATIVE.decode_rows)


def _nothing(_: Any) -> None:
    return None


def missing() -> str:
    """Return a line that says that the native codec is missing and what that means; empty if it is there."""
    if _NATIVE is not None:
        return ""
    return f"the native codec is not in use ({_REASON}): each record costs a multiple of the CPU time"


def _load() -> tuple[ModuleType | None, str]:
    switch = os.environ.get(SWITCH, "").lower()
    if switch == "off":
        return None, f"{SWITCH}=off"
    try:
        from forebay.serde import native  # noqa: PLC0415 (may be missing)
    except ImportError as error:
        if switch == "required":
            raise
        return None, f"{error}; a C compiler and Python's headers are needed where forebay is installed"
    return native, ""


_NATIVE, _REASON = _load()
