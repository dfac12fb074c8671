"""Loading of native code, if it was built."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

SWITCH = "FOREBAY_NATIVE"
"""Environment variable: `off` disables native code, `required` makes its absence an error."""

_REASONS: list[str] = []


def missing() -> str:
    """Return a line that says that native code is missing and what this means; "" if all native code is loaded."""
    reason = next(iter(_REASONS), "")
    return reason and f"native code is not in use ({reason}): each record costs a multiple of the CPU time"


def load_native(name: str) -> ModuleType | None:
    """Return a module of native code. If it can't be loaded, return None; `missing` then reports the reason.

    Raises:
        ImportError: Native code is required, but can't be loaded.
    """
    switch = os.environ.get(SWITCH, "").lower()
    if switch == "off":
        _REASONS.append(f"{SWITCH}=off")
        return None
    try:
        return import_module(name)
    except ImportError as error:
        if switch == "required":
            raise
        _REASONS.append(f"{error}; a C compiler and Python's headers are needed where forebay is installed")
        return None
