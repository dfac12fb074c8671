"""Functions for numbers, with the results of Java's `Math` for values that are infinite, NaN or out of range."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from forebay.sql.arithmetic import EXACT, saturate, within_bits, wrapped_int, wrapped_long
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.functions.registry import first, function, special
from forebay.sql.order import rank
from forebay.sql.syntax import Call
from forebay.sql.types import BIGINT, DOUBLE, INT, NULL, DecimalType, SqlType

_MILES = ("mi", "mile", "miles")
_KILOMETERS = ("km", "kilometer", "kilometers", "kilometre", "kilometres")


def java_double(call: Callable[..., float]) -> Callable[..., float]:
    """Return a function of doubles that returns infinity or NaN if the Python function raises an error."""

    def compute(*values: float) -> float:
        try:
            return float(call(*values))
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    return compute


def cube_root(value: float) -> float:
    """Return the double nearest to the cube root."""
    # The result of the C library may be wrong in the last digit, even for exact cubes: 3.0000000000000004 for 27. In
    # Java, it is exact.
    root = math.cbrt(value)
    if not math.isfinite(root) or not root:
        return root
    near = (root, math.nextafter(root, math.inf), math.nextafter(root, -math.inf))
    exact = Fraction(value)
    return min(near, key=lambda other: abs(Fraction(other) ** 3 - exact))


def nearest(value: float) -> int:
    """Return the nearest whole number of 64 bits, with halves rounded up. NaN becomes 0."""
    if not math.isfinite(value):
        return saturate(value, 64)
    # `Math.round` rounds a half up, also for negative numbers. Python's `round` takes the nearest even number.
    low = math.floor(value)
    return saturate(float(low), 64) if abs(value) >= 1 << 53 else low + (value - low >= 0.5)


def rounded_to(value: Decimal, places: int) -> Decimal:
    """Return a number rounded to a number of digits after the decimal point, with halves rounded towards +infinity."""
    # ROUND_HALF_UP rounds away from zero. For a negative number, a half in the direction of infinity is towards zero.
    return _to_places(value, places, ROUND_HALF_DOWN if value.is_signed() else ROUND_HALF_UP)


def cut_to(value: Decimal, places: int) -> Decimal:
    """Return a number truncated to a number of digits after the decimal point."""
    return _to_places(value, places, ROUND_DOWN)


def _to_places(value: Decimal, places: int, rounding: str) -> Decimal:
    """Return a number with at most `places` digits after the point. Raises ArithmeticError if it is not finite."""
    if not value.is_finite():
        raise ArithmeticError(f"{value} has no digits")
    # The context of `quantize` bounds the places. Nothing is rounded behind the last digit, and all before the first.
    if places < 0 and -places > value.adjusted() + 1:
        return Decimal(0)
    is_exact = places >= -int(value.as_tuple().exponent)
    result = value if is_exact else value.quantize(Decimal(1).scaleb(-places), rounding, EXACT)
    return result if result else result.copy_abs()


def _fitting(kind: SqlType, value: Decimal) -> Decimal:
    """Return a number with the digits of its type. Raises ArithmeticError if it does not fit."""
    assert isinstance(kind, DecimalType)
    if value and value.adjusted() >= kind.precision - kind.scale:
        raise ArithmeticError(f"{value} needs more than {kind} holds")
    return value.quantize(Decimal(1).scaleb(-kind.scale), context=EXACT)


def logarithm(base: float, value: float | None = None) -> float:
    """Return the natural logarithm, or the logarithm to a base. It is NaN or infinite in the same cases as in Java."""
    if value is None:
        return -math.inf if base == 0 else math.nan if base < 0 else math.log(base)
    if base <= 0 or base == 1:
        return math.nan
    return logarithm(value) / logarithm(base)


def power(base: float, exponent: float) -> float:
    """Return a power. It is NaN or infinite in the same cases as in Java."""
    if abs(base) == 1 and not math.isfinite(exponent):
        return math.nan  # 1 in C
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base == 0:
            return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf
        return math.nan


def cotangent(value: float) -> float:
    """Return the cotangent, which is infinite at 0."""
    tangent = math.tan(value)
    return 1 / tangent if tangent else math.copysign(math.inf, value)


def sign(value: Any) -> int:
    """Return the sign of a number as -1, 0 or 1. The sign of NaN is 0."""
    return int(value > 0) - int(value < 0)


def geo_distance(one_lat: float, one_lon: float, lat: float, lon: float, unit: str | None = "KM") -> float | None:
    """Return the great-circle distance of two points in km or miles. Raises ValueError."""
    if None in (one_lat, one_lon, lat, lon):
        return None
    if abs(one_lat) > 90 or abs(lat) > 90 or abs(one_lon) > 180 or abs(lon) > 180:
        raise ValueError("latitudes are -90 to 90, longitudes -180 to 180")
    name = (unit or "").strip().lower() or "km"
    if name not in _MILES + _KILOMETERS:
        raise ValueError(f"{unit!r} is not one of {', '.join(_MILES + _KILOMETERS)}")
    up, along = math.radians(lat - one_lat), math.radians(lon - one_lon)
    part = math.sin(up / 2) ** 2 + math.sin(along / 2) ** 2 * math.cos(math.radians(one_lat)) * math.cos(
        math.radians(lat)
    )
    return 2 * (3959 if name in _MILES else 6371) * math.asin(math.sqrt(part))


@special("GREATEST LEAST", 1)
def _extreme(make: Binder, call: Call) -> Bound:
    values, kind = make.alike([make.of(argument) for argument in call.arguments], call)
    return make.call(call.name, greatest if call.name == "GREATEST" else least, values, kind)


def greatest(*values: Any) -> Any:
    """Return the largest value that is not null."""
    return max((value for value in values if value is not None), key=rank, default=None)


def least(*values: Any) -> Any:
    """Return the smallest value that is not null."""
    return min((value for value in values if value is not None), key=rank, default=None)


def _without_places(types: list[SqlType]) -> SqlType:
    kind = types[0]
    return DecimalType(max(1, kind.precision - kind.scale), 0) if isinstance(kind, DecimalType) else NULL


def _of_decimal(step: Callable[[Decimal, int], Decimal]) -> Callable[[SqlType], Callable[..., Decimal]]:
    """Return a function that creates a DECIMAL function for a result type. A result that does not fit is an error."""
    return lambda kind: lambda value, places=0: _fitting(kind, step(value, places))


def _of_double(step: Callable[[Decimal, int], Decimal]) -> Callable[[float, int], float]:
    def round_value(value: float, places: int) -> float:
        return float(step(Decimal(repr(value)), places))

    return round_value


def _of_whole(step: Callable[[Decimal, int], Decimal], bits: int) -> Callable[[int, int], int]:
    return lambda value, places: within_bits(int(step(Decimal(value), places)), bits)


def _to_integer(whole: Callable[[float], int]) -> Callable[[float], float]:
    # -0.5 is rounded up to -0.0.
    return lambda value: math.copysign(whole(value), value) if math.isfinite(value) else value


function("ABS", "i", INT, lambda value: wrapped_int(abs(value)))
function("ABS", "l", BIGINT, lambda value: wrapped_long(abs(value)))
function("ABS", "c", first, Decimal.copy_abs)
function("ABS", "d", DOUBLE, abs)
for _name, _step, _rounding in (("CEIL", math.ceil, ROUND_CEILING), ("FLOOR", math.floor, ROUND_FLOOR)):
    for _letter in "il":
        function(_name, _letter, first, lambda value: value)
    function(_name, "d", DOUBLE, _to_integer(_step))
    _whole = _of_decimal(lambda value, places, how=_rounding: _to_places(value, places, how))  # type: ignore[misc]
    function(_name, "c", first, _whole, typed=True)
for _name, _places in (("ROUND", rounded_to), ("TRUNC", cut_to)):
    for _letter, _bits in (("i", 32), ("l", 64)):
        function(_name, _letter, BIGINT, lambda value: value)
        function(_name, f"{_letter} i", first, _of_whole(_places, _bits))
    function(_name, "d i", DOUBLE, _of_double(_places))
    function(_name, "c", _without_places, _of_decimal(_places), typed=True)
    function(_name, "c i", first, _of_decimal(_places), typed=True)
function("ROUND", "d", BIGINT, nearest)
function("TRUNC", "d", BIGINT, lambda value: saturate(value, 64))
function("SIGN", "n", INT, sign)
function("RANDOM", "", DOUBLE, random.random)
function("GEO_DISTANCE", "d d d d s?", DOUBLE, geo_distance, takes_null=True)
function("LN", "d", DOUBLE, logarithm)
function("LOG", "d d?", DOUBLE, logarithm)
function("POWER POW", "d d", DOUBLE, power)
function("PI", "", DOUBLE, lambda: math.pi)
function("CBRT", "d", DOUBLE, cube_root)
function("COT", "d", DOUBLE, java_double(cotangent))
for _name in (
    *("exp", "sin", "cos", "tan", "asin", "acos", "atan", "cosh", "tanh", "degrees", "radians", "sqrt"),
    "atan2",
):
    function(_name.upper(), "d d" if _name == "atan2" else "d", DOUBLE, java_double(getattr(math, _name)))
function("SINH", "d", DOUBLE, lambda value: math.copysign(java_double(math.sinh)(abs(value)), value))
