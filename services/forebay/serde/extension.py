"""The native codec, where it could be built. Everything works without it, at a tenth of the speed."""

from __future__ import annotations

import os
from types import ModuleType
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from forebay.serde import native

Native: TypeAlias = "type[native.Codec]"

SWITCH = "FOREBAY_NATIVE"
"""Environment variable: `off` leaves the native codec out, `required` makes its absence an error."""


def native_codec() -> Native | None:
    """Return the native codec's class; None where there is none."""
    return None if _NATIVE is None else _NATIVE.Codec


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
