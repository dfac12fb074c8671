"""Identities of Protobuf messages, whose fields are found by their numbers."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from forebay.formats.identities import Identity, by_number

_MOST_FIELDS = 5_000
"""Limit of the fields of a message and its nested messages. Messages that use each other can expand to any number."""
_TYPES = {
    getattr(FieldDescriptor, f"TYPE_{name.upper()}"): name
    for name in (
        "double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string", "bytes", "uint32",
        "enum", "sfixed32", "sfixed64", "sint32", "sint64",
    )
}  # fmt: skip


def identity_of(message: Descriptor, head: str) -> Identity:
    """Return the identity of a message.

    Args:
        head: Description of the framing.
    """
    try:
        return _Unfolding().message(message, head, ())
    except OverflowError:
        return by_number(
            head, ((field.number, field.name, _TYPES.get(field.type, "message")) for field in message.fields)
        )


class _Unfolding:
    def __init__(self) -> None:
        self._fields = 0

    def message(self, message: Descriptor, head: str, within: tuple[str, ...]) -> Identity:
        if message.full_name in within:
            # Use the number of levels, because another package or name does not change the bytes.
            return f"message {len(within) - within.index(message.full_name)} levels up"
        self._fields += len(message.fields)
        if self._fields > _MOST_FIELDS:
            raise OverflowError
        inside = (*within, message.full_name)
        return by_number(head, [(field.number, field.name, self._type_of(field, inside)) for field in message.fields])

    def _type_of(self, field: Any, within: tuple[str, ...]) -> Identity:
        message = field.message_type
        kind = _TYPES[field.type] if message is None else self.message(message, "message", within)
        return ["list of", kind] if field.is_repeated else kind
