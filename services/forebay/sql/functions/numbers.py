"""Functions of numbers."""

from __future__ import annotations

import math
import random
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

from forebay.sql.functions.registry import first, function, special
from forebay.sql.generate import Generator, Typed
from forebay.sql.syntax import Call
from forebay.sql.types import BIGINT, DOUBLE, INT, NULL, DecimalType, SqlType


def rounded(value: float) -> int:
    """Return the nearest whole number, half up."""
    return math.floor(value + 0.5)


def rounded_to(value: Any, digits: int) -> Any:
    """Return a number with so many digits behind the point, half up; it keeps its type."""
    made = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    scale = made.as_tuple().exponent
    found = made.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return float(found) if isinstance(value, float) else found.quantize(Decimal(1).scaleb(int(scale)))


def logarithm(base: float, value: float | None = None) -> float:
    """Return the natural logarithm, or that of a base; NaN or infinite as Java has it."""
    if value is None:
        return -math.inf if base == 0 else math.log(base) if base > 0 else math.nan
    if base <= 0 or base == 1 or value <= 0:
        return math.nan if base <= 0 or base == 1 or value < 0 else -math.inf
    return math.log(value) / math.log(base)


def square_root(value: float) -> float:
    """Return the square root; NaN of a negative number."""
    return math.sqrt(value) if value >= 0 else math.nan


def sign(value: Any) -> int:
    """Return -1, 0 or 1."""
    return int(value > 0) - int(value < 0)


def geo_distance(one_lat: float, one_lon: float, lat: float, lon: float, unit: str = "KM") -> float:
    """Return the great-circle distance of two points in km or miles. Raises ValueError."""
    if not (abs(one_lat) <= 90 and abs(lat) <= 90 and abs(one_lon) <= 180 and abs(lon) <= 180):
        raise ValueError("latitudes are -90 to 90, longitudes -180 to 180")
    radius = 3959 if unit.upper().startswith("MI") else 6371
    up, along = math.radians(lat - one_lat), math.radians(lon - one_lon)
    part = math.sin(up / 2) ** 2 + math.sin(along / 2) ** 2 * math.cos(math.radians(one_lat)) * math.cos(
        math.radians(lat)
    )
    return 2 * radius * math.asin(math.sqrt(part))


@special("GREATEST LEAST", 1)
def _extreme(make: Generator, call: Call) -> Typed:
    sources, kind = make.alike([make.of(each) for each in call.arguments], call)
    best = make.constant(greatest if call.name == "GREATEST" else least)
    return Typed(f"{best}({', '.join(sources)})", kind)


def greatest(*values: Any) -> Any:
    """Return the largest that is not null."""
    return max((value for value in values if value is not None), default=None)


def least(*values: Any) -> Any:
    """Return the smallest that is not null."""
    return min((value for value in values if value is not None), default=None)


def _whole_decimal(types: list[SqlType]) -> SqlType:
    kind = types[0]
    return kind if isinstance(kind, DecimalType) else NULL


def _towards(rounding: str) -> Any:
    return lambda value: value.quantize(Decimal(1), rounding).quantize(Decimal(1).scaleb(value.as_tuple().exponent))


function("ABS", "n", first, abs)
for _name, _double, _rounding in (("CEIL", math.ceil, ROUND_CEILING), ("FLOOR", math.floor, ROUND_FLOOR)):
    for _letter in "il":
        function(_name, _letter, first, lambda value: value)
    function(_name, "c", _whole_decimal, _towards(_rounding))
    function(_name, "d", DOUBLE, lambda value, whole=_double: float(whole(value)))
for _letter in "il":
    function("ROUND", _letter, BIGINT, lambda value: value)
    function("ROUND", f"{_letter} i", first, rounded_to)
function(
    "ROUND",
    "c",
    lambda types: DecimalType(types[0].precision - types[0].scale + 1, 0),  # type: ignore[union-attr]
    lambda value: value.quantize(Decimal(1), ROUND_HALF_UP),
)
function("ROUND", "c i", first, rounded_to)
function("ROUND", "d", BIGINT, rounded)
function("ROUND", "d i", DOUBLE, rounded_to)
function("SIGN", "n", INT, sign)
function("RANDOM", "", DOUBLE, random.random)
function("GEO_DISTANCE", "d d d d s?", DOUBLE, geo_distance)
function("LN", "d", DOUBLE, logarithm)
function("LOG", "d d?", DOUBLE, logarithm)
function("SQRT", "d", DOUBLE, square_root)
function("POWER POW", "d d", DOUBLE, lambda base, exponent: float(math.pow(base, exponent)))
function("PI", "", DOUBLE, lambda: math.pi)
function("CBRT", "d", DOUBLE, math.cbrt)
function("COT", "d", DOUBLE, lambda value: 1 / math.tan(value) if value else math.inf)
for _name in ("exp", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "degrees", "radians"):
    function(_name.upper(), "d", DOUBLE, getattr(math, _name))
function("ATAN2", "d d", DOUBLE, math.atan2)
