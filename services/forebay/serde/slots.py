"""Detection of record classes whose instances can be created by setting their slots, without calling the class."""

from __future__ import annotations

import inspect
import types

import msgspec

from forebay.records import fields_of


def constructed_directly(record_type: type) -> bool:
    """Return whether instances consist only of slots, and the class defines no code that runs at their creation."""
    if hasattr(record_type, "__post_init__"):
        return False
    if not issubclass(record_type, msgspec.Struct) and record_type.__bases__ != (object,):
        return False
    members = (inspect.getattr_static(record_type, name, None) for name in fields_of(record_type))
    return all(isinstance(member, types.MemberDescriptorType) for member in members)
