"""Building frozen dataclasses quickly."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any


def fast_constructor(record_type: type) -> tuple[Callable[..., Any], bool]:
    """Give a positional constructor for `record_type`, and whether its result must yet become one.

    A frozen dataclass sets each field through object.__setattr__: 1.6 us for 12 fields. A twin, a class with the same
    slots that is not frozen, takes 0.2 us. So decoders build a twin and then assign `twin.__class__ = record_type`,
    which Python allows between classes of the same layout; nobody else has seen the object before that. What the
    dataclass does in __post_init__, or inherits, a twin would miss: such a type gets its own constructor and False.
    """
    slots = tuple(record_type.__dict__.get("__slots__", ()))
    names = tuple(field.name for field in dataclasses.fields(record_type))
    if slots != names or not names or record_type.__bases__ != (object,) or hasattr(record_type, "__post_init__"):
        return record_type, False
    assignments = "\n".join(f"    self.{name} = {name}" for name in names)
    scope: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}):\n{assignments}\n", scope)
    twin = type(f"{record_type.__name__}Twin", (), {"__slots__": slots, "__init__": scope["__init__"]})
    return twin, True
