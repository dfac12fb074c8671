"""Exact amounts of money."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

ZERO = Decimal("0.000000")
"""Zero with the contracts' six decimal places, so that a price with a decimal type is never rounded."""

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def amount_of(price: Decimal | float, quantity: int) -> Decimal:
    """Return the cost of `quantity` pieces, with six decimal places.

    A double is converted to the shortest decimal number that is parsed as it, rounded to six places (half to even).
    """
    exact = price if price.__class__ is Decimal else Decimal(repr(price)).quantize(ZERO, context=_EXACT)
    return _EXACT.multiply(exact, quantity)


def plus(total: Decimal, amount: Decimal) -> Decimal:
    """Return the exact sum, with any number of digits, so that the order of additions does not matter."""
    return _EXACT.add(total, amount)
