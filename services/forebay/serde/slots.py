"""Which record classes are made by filling their slots, without calling them."""

from __future__ import annotations

import dataclasses


def constructed_directly(record_type: type) -> bool:
    """Say whether instances are no more than their slots: nothing of the class's own runs when one is made."""
    slots = tuple(record_type.__dict__.get("__slots__", ()))
    names = tuple(field.name for field in dataclasses.fields(record_type))
    return slots == names and record_type.__bases__ == (object,) and not hasattr(record_type, "__post_init__")
