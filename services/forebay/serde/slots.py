"""Which record classes are made by filling their slots, without calling them."""

from __future__ import annotations

import inspect
import types

import msgspec

from forebay.records import fields_of


def constructed_directly(record_type: type) -> bool:
    """Say whether instances are no more than their slots: nothing of the class's own runs when one is made."""
    if hasattr(record_type, "__post_init__"):
        return False
    if not issubclass(record_type, msgspec.Struct) and record_type.__bases__ != (object,):
        return False
    members = (inspect.getattr_static(record_type, name, None) for name in fields_of(record_type))
    return all(isinstance(member, types.MemberDescriptorType) for member in members)
