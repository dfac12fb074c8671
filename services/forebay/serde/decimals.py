"""Avro's logical type decimal: a whole number of units of 10**-scale, in two's complement, big-endian."""

from __future__ import annotations

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any

from fastavro.read import LOGICAL_READERS

from forebay.codec import EncodeError
from forebay.serde.avro_types import DecimalType
from forebay.serde.limits import MAX_PRECISION
from forebay.serde.varint import Malformed

BOUNDED_DECIMAL = "forebay-decimal"
"""The logical type of decimals for fastavro, whose own reader would convert a megabyte of digits before any check."""


def decimal_writer(avro: DecimalType) -> Callable[[Any], bytes]:
    """Return a function from a Decimal to its bytes, without their length. It never rounds.

    It raises EncodeError for other types, for values that are not finite, and for too many digits.
    """
    scale, size = avro.scale, avro.size
    context = Context(prec=avro.precision, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[Inexact, InvalidOperation])
    quantize, shift = context.quantize, context.scaleb
    unit = Decimal((0, (1,), -scale))

    def write(value: Any) -> bytes:
        if value.__class__ is not Decimal:
            raise EncodeError(f"must be Decimal, is {type(value).__name__} {value!r:.100}")
        try:
            unscaled = int(shift(quantize(value, unit), scale))
        except (ArithmeticError, ValueError):
            room = f"{avro.precision - scale} digits before the point, {scale} after it"
            raise EncodeError(f"{value!s:.100} does not fit into {avro.text} ({room}): round it first") from None
        width = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1 if size is None else size
        return unscaled.to_bytes(width, "big", signed=True)

    return write


def decimal_reader(writer: DecimalType, scale: int) -> Callable[[bytes], Decimal]:
    """Return a function from a decimal's bytes to the Decimal with `scale` digits after the point.

    `scale` is at least the writer's scale. The function raises Malformed if there are more digits than the writer's
    precision.
    """
    limit, factor = 10**writer.precision, 10 ** (scale - writer.scale)
    digits = writer.precision + scale - writer.scale
    shift = Context(prec=digits, Emin=MIN_EMIN, Emax=MAX_EMAX).scaleb
    exponent = -scale

    def read(data: bytes) -> Decimal:
        unscaled = int.from_bytes(data, "big", signed=True)
        if not -limit < unscaled < limit:
            raise Malformed(f"a {writer.text} holds more than {writer.precision} digits")
        return shift(unscaled * factor, exponent)

    return read


def readable_as(writer: DecimalType, reader: DecimalType) -> bool:
    """Return whether `reader` can represent all values of `writer`, on both sides of the point."""
    return writer.scale <= reader.scale and writer.precision - writer.scale <= reader.precision - reader.scale


def _read_bounded(data: bytes, writer_schema: dict[Any, Any] | None, _reader_schema: Any) -> Any:
    schema = writer_schema or {}
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision:
        return data  # Avro's specification requires readers to ignore an invalid logical type
    return _bounded_reader(precision, scale)(data)


@lru_cache(256)
def _bounded_reader(precision: int, scale: int) -> Callable[[bytes], Decimal]:
    return decimal_reader(DecimalType(min(precision, MAX_PRECISION), scale), scale)


LOGICAL_READERS[f"bytes-{BOUNDED_DECIMAL}"] = LOGICAL_READERS[f"fixed-{BOUNDED_DECIMAL}"] = _read_bounded
