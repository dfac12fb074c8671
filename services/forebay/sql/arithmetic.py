"""Java's arithmetic for whole numbers of 32 and 64 bits, decimals and doubles. After an error, the column is null."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_UP, Context, Decimal

_MOST_DIGITS = 20_000
EXACT = Context(prec=_MOST_DIGITS, rounding=ROUND_HALF_UP)
"""Context that never rounds, because no DECIMAL has that many digits."""
_FEW_DIGITS = 60
_QUOTIENT = Context(prec=200, rounding=ROUND_HALF_UP)


def wrapped_int(value: int) -> int:
    """Return a whole number wrapped to 32 bits."""
    # Java's integers wrap around on overflow, and ksqlDB does not check for it.
    return value if -0x80000000 <= value <= 0x7FFFFFFF else (value + 0x80000000) % 0x100000000 - 0x80000000


def wrapped_long(value: int) -> int:
    """Return a whole number wrapped to 64 bits."""
    return value if -(1 << 63) <= value < 1 << 63 else (value + (1 << 63)) % (1 << 64) - (1 << 63)


def within_bits(value: int, bits: int) -> int:
    """Return a whole number. Raises ValueError if it does not fit the number of bits."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"a whole number needs more than {bits} bits")
    return value


def whole_quotient(one: int, other: int) -> int:
    """Return the quotient rounded towards zero. Raises ZeroDivisionError."""
    # Java rounds a quotient towards zero. Python's `//` rounds down, which differs for negative numbers.
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def whole_remainder(one: int, other: int) -> int:
    """Return the remainder, which has the sign of the dividend. Raises ZeroDivisionError."""
    return one - other * whole_quotient(one, other)


def quotient(one: float, other: float) -> float:
    """Return the quotient of doubles. Division by zero returns infinity or NaN."""
    if other == 0.0:
        if one == 0.0 or math.isnan(one):
            return math.nan
        return math.copysign(math.inf, one) * math.copysign(1.0, other)
    return one / other


def remainder(one: float, other: float) -> float:
    """Return the remainder of doubles, which has the sign of the dividend. It is NaN for a divisor of zero."""
    # `math.fmod` has the same results as Java's `%`, except that it raises an error if Java returns NaN. A null fails.
    try:
        return math.fmod(one, other)
    except ValueError:
        return math.nan


def decimal_of(value: Decimal | float, precision: int, scale: int) -> Decimal:
    """Return a number with `scale` digits after the decimal point, rounded half up. Raises ArithmeticError."""
    # Convert a double by its shortest text, as `BigDecimal.valueOf` does. `Decimal(0.1)` would have 55 digits.
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    # Check the size before `quantize`, which would write out all digits of a number such as 1E+1000000.
    if not exact.is_finite() or exact.adjusted() > precision - scale:
        raise ArithmeticError(f"a value needs more than DECIMAL({precision}, {scale}) holds")
    outcome = exact.quantize(Decimal(1).scaleb(-scale), context=EXACT)
    if not outcome:
        return outcome.copy_abs()  # Java's zero has no sign
    # Rounding may have added a digit, as in 9.99 rounded to one digit behind the point.
    if outcome.adjusted() >= precision - scale:
        raise ArithmeticError(f"a value needs more than DECIMAL({precision}, {scale}) holds")
    return outcome


def exact_decimal_of(value: Decimal | float, precision: int, scale: int) -> Decimal:
    """Return a number with `scale` digits after the decimal point. Raises ArithmeticError if its value would change."""
    outcome = decimal_of(value, precision, scale)
    if outcome != (Decimal(repr(value)) if isinstance(value, float) else value):
        raise ArithmeticError(f"a value does not fit into DECIMAL({precision}, {scale}) without rounding")
    return outcome


def decimal_negative(value: Decimal) -> Decimal:
    """Return the number with the opposite sign. Zero remains unsigned."""
    return value.copy_negate() if value != 0 else value


def decimal_sum(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact sum."""
    return EXACT.add(Decimal(one), Decimal(other))


def decimal_difference(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact difference."""
    return EXACT.subtract(Decimal(one), Decimal(other))


def decimal_product(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact product."""
    return EXACT.multiply(Decimal(one), Decimal(other))


def decimal_quotient(one: Decimal, other: Decimal) -> Decimal:
    """Return the quotient, with more digits than any result type has. Raises decimal.DivisionByZero."""
    left, right = Decimal(one), Decimal(other)
    digits = len(left.as_tuple().digits) + 2 * len(right.as_tuple().digits)
    context = _QUOTIENT if digits <= _FEW_DIGITS else Context(prec=140 + digits, rounding=ROUND_HALF_UP)
    return context.divide(left, right)


def decimal_remainder(one: Decimal, other: Decimal) -> Decimal:
    """Return the remainder. Raises decimal.InvalidOperation."""
    return EXACT.remainder(Decimal(one), Decimal(other))


def saturate(value: float, bits: int) -> int:
    """Return a double as a whole number, as in a Java cast. NaN becomes 0, and a value out of range the limit."""
    if value != value:  # noqa: PLR0124 (only NaN is not itself)
        return 0
    # A double beyond the range becomes the largest value, while a whole number wraps around. Java's casts differ in the
    # same way.
    limit = 1 << bits - 1
    return limit - 1 if value >= limit else -limit if value <= -limit else int(value)


def text_of_double(value: float) -> str:
    """Return the text of a double in Java's format, such as 1.0, 1.0E10 or 1.0E-5."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # The limits between plain and scientific notation are those of `Double.toString`.
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    # Work on the text, because converting each double to a Decimal would take three times as long.
    mantissa, _, exponent = repr(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    power = int(exponent or 0) + len(digits) - len(fraction) - 1
    digits = digits.rstrip("0")
    if len(digits) == 1:
        # Java writes at least two digits. For Python's 5e-324 they are 4.9E-324, because this is nearer to the value.
        mantissa, _, exponent = f"{value:.1e}".partition("e")
        return f"{mantissa}E{int(exponent)}"
    return f"{'-' if value < 0 else ''}{digits[0]}.{digits[1:]}E{power}"
