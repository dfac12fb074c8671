"""A codec that compares the native implementation with the Python one, which explains errors, at every call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.serde import AvroCodec, RegisteredSchema, SchemaResolver
from forebay.serde.extension import native_codec

NATIVE = native_codec()


class BothPaths:
    """A codec that calls both implementations and fails if results, their types or error messages differ.

    If there is no native codec (`test_extension.py` checks whether there must be one), both are the explaining
    implementation.
    """

    def __init__(self, record_type: type, registered: RegisteredSchema, resolver: SchemaResolver) -> None:
        self.native: AvroCodec[Any] = AvroCodec(record_type, registered, resolver)
        self.explaining: AvroCodec[Any] = AvroCodec(record_type, registered, resolver, native=None)

    def encode(self, record: Any) -> bytes:
        native, explained = outcome(self.native.encode, record), outcome(self.explaining.encode, record)
        assert native == explained
        return self.native.encode(record)

    def decode(self, data: bytes) -> Any:
        native, explained = outcome(self.native.decode, data), outcome(self.explaining.decode, data)
        assert native == explained
        return self.native.decode(data)

    def canonical(self, record: Any) -> Any:
        assert self.native.canonical is not None
        assert self.explaining.canonical is not None
        native, explained = outcome(self.native.canonical, record), outcome(self.explaining.canonical, record)
        assert native == explained
        return self.native.canonical(record)


def outcome(call: Callable[[Any], Any], argument: Any) -> tuple[str, str]:
    """Return the outcome of a call: type and text of the value or of the error. 1, 1.0 and True differ."""
    try:
        value = call(argument)
    except Exception as error:
        return type(error).__name__, str(error)
    return type(value).__name__, repr(value)
