"""Errors of the format `forebay` that its users can correct."""

from __future__ import annotations


class OptionError(ValueError):
    """An option is unknown, missing or has an invalid value. The message says what to write."""


class SchemaNotSupported(ValueError):
    """A registered schema has a type that Spark can't express. The message contains the path of the field."""


class OffsetsDeleted(RuntimeError):
    """Offsets that should be read were deleted. The message names them and says what to do."""
