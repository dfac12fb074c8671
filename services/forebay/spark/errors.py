"""Errors of the format `forebay` that its users can correct."""

from __future__ import annotations


class OptionError(ValueError):
    """An option is unknown, missing or has an invalid value. The message says what to write."""


class SchemaNotSupported(ValueError):
    """A registered schema has a type that Spark can't express. The message names its place."""


class OffsetsDeleted(RuntimeError):
    """Offsets that should be read are gone. The message names them and what to do."""
