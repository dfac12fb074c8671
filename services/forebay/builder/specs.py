"""What a verb's caller may give for keys and values."""

from __future__ import annotations

from typing import TypeVar

from forebay.builder.nodes import TopologyError
from forebay.formats import Format, format_of

O = TypeVar("O")  # noqa: E741

Spec = type[O] | Format[O]
"""A frozen dataclass (Avro), a scalar type (Kafka's own format), or a Format."""


def format_or_refuse(spec: type[O] | Format[O]) -> Format[O]:
    """Return the format. Raises TopologyError: the type has no format."""
    try:
        return format_of(spec)
    except TypeError as error:
        raise TopologyError(str(error)) from error
