"""The types and formats that operators accept for keys and values."""

from __future__ import annotations

from typing import TypeVar

from forebay.builder.nodes import TopologyError
from forebay.formats import Format, format_of

O = TypeVar("O")  # noqa: E741

Spec = type[O] | Format[O]
"""A record type (Avro), a scalar type (Kafka's format for it), or a Format."""


def format_or_refuse(spec: type[O] | Format[O]) -> Format[O]:
    """Return the format of a type, or the format itself. Raise TopologyError if the type has no format."""
    try:
        return format_of(spec)
    except TypeError as error:
        raise TopologyError(str(error)) from error
