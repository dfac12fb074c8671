"""Amounts of money, exact."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal

ZERO = Decimal("0.000000")
"""Nothing, with the contracts' six digits behind the point: a price that comes as a decimal is never rounded."""

_EXACT = Context(prec=60, rounding=ROUND_HALF_EVEN)


def amount_of(price: Decimal | float, quantity: int) -> Decimal:
    """Return what `quantity` pieces cost, with six digits behind the point.

    A double means the shortest decimal number that reads as it, rounded to six digits (half to even).
    """
    exact = price if price.__class__ is Decimal else Decimal(repr(price)).quantize(ZERO, context=_EXACT)
    return _EXACT.multiply(exact, quantity)


def plus(total: Decimal, amount: Decimal) -> Decimal:
    """Return the exact sum, with any number of digits, so that the order of additions does not matter."""
    return _EXACT.add(total, amount)
