"""Recursive-descent parser of expressions, from OR, which binds weakest, down to names and literals."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import reduce

from forebay.sql.arithmetic import decimal_negative
from forebay.sql.errors import Place, SqlError
from forebay.sql.reader import LONG_MAX, Reader, number
from forebay.sql.syntax import (
    ArrayOf,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Field,
    Item,
    Lambda,
    Literal,
    MapOf,
    Star,
    StructOf,
)
from forebay.sql.tokens import RESERVED

_COMPARED = ("=", "!=", "<", "<=", ">", ">=")
_LONG_CHAIN = 16
_OF_UNIT = ("TIMESTAMPADD", "TIMESTAMPSUB", "DATEADD", "DATESUB", "TIMEADD", "TIMESUB")
"""Functions whose first argument is the name of a time unit."""


def expression(read: Reader) -> Expression:
    """Return the next expression. Raises SqlError."""
    place, operand = read.place, [_conjunction(read)]
    while read.take("OR"):
        operand.append(_conjunction(read))
    return chain("OR", operand, place)


def _conjunction(read: Reader) -> Expression:
    place, operands = read.place, [_negation(read)]
    while read.take("AND"):
        operands.append(_negation(read))
    return chain("AND", operands, place)


def chain(name: str, parts: Sequence[Expression], place: Place) -> Expression:
    """Return operands joined by an operator, as nested calls with two arguments.

    A long chain is nested as a balanced tree. A left-deep tree would need one level of Python's stack per operand.
    """
    if len(parts) <= _LONG_CHAIN:
        return reduce(lambda left, right: Call(name, (left, right), place=place), parts)
    middle = len(parts) // 2
    return Call(name, (chain(name, parts[:middle], place), chain(name, parts[middle:], place)), place=place)


def _negation(read: Reader) -> Expression:
    place = read.place
    return Call("NOT", (_negation(read),), place=place) if read.take("NOT") else _comparison(read)


def _comparison(read: Reader) -> Expression:
    place, call = read.place, _sum(read)
    while True:
        negated = read.at("NOT") and read.ahead().text in ("IN", "LIKE", "BETWEEN")
        if negated:
            read.step()
        if read.token.kind == "symbol" and read.token.text in _COMPARED:
            sign = read.step().text
            call = Call(sign, (call, _sum(read)), place=place)
        elif read.take("IS"):
            call = _is(read, call, place)
        elif read.take("IN"):
            read.expect("(")
            if read.at(")"):
                raise SqlError(read.place, "the list of IN is empty: write a value")
            call = Call("IN", (call, *_list_of(read)), place=place)
        elif read.take("LIKE"):
            pattern = _sum(read)
            escape = (_sum(read),) if read.take("ESCAPE") else ()
            call = Call("LIKE", (call, pattern, *escape), place=place)
        elif read.take("BETWEEN"):
            low = _sum(read)
            read.expect("AND")
            call = Call("BETWEEN", (call, low, _sum(read)), place=place)
        else:
            return call
        if negated:
            call = Call("NOT", (call,), place=place)


def _is(read: Reader, found: Expression, place: Place) -> Expression:
    negated = read.take("NOT")
    if read.take("NULL"):
        call = Call("IS NULL", (found,), place=place)
    elif read.take("DISTINCT", "FROM"):
        call = Call("IS DISTINCT", (found, _sum(read)), place=place)
    elif read.at("TRUE") or read.at("FALSE"):
        wanted = Literal(read.step().text == "TRUE", place=place)
        call, negated = Call("IS DISTINCT", (found, wanted), place=place), not negated
    else:
        read.fail("NULL, TRUE, FALSE or DISTINCT FROM")
    return Call("NOT", (call,), place=place) if negated else call


def _sum(read: Reader) -> Expression:
    place, call = read.place, _product(read)
    while read.token.kind == "symbol" and read.token.text in ("+", "-", "||"):
        sign = read.step().text
        call = Call(sign, (call, _product(read)), place=place)
    return call


def _product(read: Reader) -> Expression:
    place, call = read.place, _sign(read)
    while read.token.kind == "symbol" and read.token.text in ("*", "/", "%"):
        sign = read.step().text
        call = Call(sign, (call, _sign(read)), place=place)
    return call


def _sign(read: Reader) -> Expression:
    place = read.place
    if read.take("-"):
        if read.token.kind == "number" and read.token.text == str(LONG_MAX + 1) and not read.at_digit_name:
            read.step()
            return Literal(-LONG_MAX - 1, place=place)
        result = _sign(read)
        match result:
            case Literal(Decimal() as value):
                # Python's unary minus would round to 28 digits.
                return Literal(decimal_negative(value), place=place)
            case Literal(int() | float() as value) if not isinstance(value, bool):
                return Literal(-value, place=place)
        return Call("-x", (result,), place=place)
    return _sign(read) if read.take("+") else _access(read)


def _access(read: Reader) -> Expression:
    place, field = read.place, _primary(read)
    while True:
        if read.take("->"):
            if read.take("*"):
                return Star(struct=field, place=place)
            field = Field(field, read.name("a field's name"), place=place)
        elif read.take("["):
            field = Item(field, expression(read), place=place)
            read.expect("]")
        elif read.at("AT") and read.ahead().text == "TIME":
            read.fail("CONVERT_TZ(time, from, to)")
        else:
            return field


def _primary(read: Reader) -> Expression:
    token, place = read.token, read.place
    if token.kind == "number" and not read.at_digit_name:
        read.step()
        return number(token.text, place)
    if token.kind == "text":
        read.step()
        return Literal(token.text, place=place)
    if token.kind == "symbol":
        return _bracket(read)
    if token.kind == "word":
        result = _keyword(read)
        if result is not None:
            return result
        if token.text in RESERVED and read.ahead().text not in (".", "("):
            read.fail("a value")
    if token.kind == "end":
        read.fail("a value")
    if read.ahead().text == "=>":
        parameter = read.name()
        read.expect("=>")
        return Lambda((parameter,), expression(read), place=place)
    name = read.name()
    if token.kind == "word" and read.take("("):
        arguments = _list_of(read)
        if token.text in _OF_UNIT and arguments and isinstance(arguments[0], Column):
            arguments[0] = Literal(arguments[0].name.upper(), place=arguments[0].place)
        return Call(token.text, tuple(arguments), place=place)
    if read.take("."):
        if read.take("*"):
            return Star(name, place=place)
        return Column(read.name("a column's name"), name, place=place)
    return Column(name, place=place)


def _keyword(read: Reader) -> Expression | None:
    place = read.place
    if read.take("NULL"):
        return Literal(None, place=place)
    if read.at("TRUE") or read.at("FALSE"):
        return Literal(read.step().text == "TRUE", place=place)
    if read.take("CAST", "("):
        value = expression(read)
        read.expect("AS")
        kind = read.type()
        read.expect(")")
        return Cast(value, kind, place=place)
    if read.take("CASE"):
        return _case(read, place)
    if read.take("STRUCT", "("):
        return _struct(read, place)
    if read.take("MAP", "("):
        return _map(read, place)
    if read.take("ARRAY", "["):
        items: list[Expression] = []
        while not read.take("]"):
            if items:
                read.expect(",")
            items.append(expression(read))
        return ArrayOf(tuple(items), place=place)
    return None


def _bracket(read: Reader) -> Expression:
    place = read.place
    if read.take("*"):
        return Star(place=place)
    read.expect("(")
    depth, ahead = 1, 0
    while depth and read.ahead(ahead).kind != "end":
        depth += {"(": 1, ")": -1}.get(read.ahead(ahead).text, 0) if read.ahead(ahead).kind == "symbol" else 0
        ahead += 1
    if read.ahead(ahead).text == "=>":
        names = [read.name("a parameter's name")]
        while read.take(","):
            names.append(read.name("a parameter's name"))
        read.expect(")")
        read.expect("=>")
        return Lambda(tuple(names), expression(read), place=place)
    result = expression(read)
    read.expect(")")
    return result


def _list_of(read: Reader) -> list[Expression]:
    expressions: list[Expression] = []
    while not read.take(")"):
        if expressions:
            read.expect(",")
        expressions.append(expression(read))
    return expressions


def _case(read: Reader, place: Place) -> Expression:
    subject = None if read.at("WHEN") else expression(read)
    whens: list[tuple[Expression, Expression]] = []
    while read.take("WHEN"):
        condition = expression(read)
        if subject is not None:
            condition = Call("=", (subject, condition), place=condition.place)
        read.expect("THEN")
        whens.append((condition, expression(read)))
    if not whens:
        read.fail("WHEN")
    default = expression(read) if read.take("ELSE") else None
    read.expect("END")
    return Case(tuple(whens), default, place=place)


def _struct(read: Reader, place: Place) -> Expression:
    fields: list[tuple[str, Expression]] = []
    while not read.take(")"):
        if fields:
            read.expect(",")
        name = read.name("a field's name")
        read.expect(":=")
        if any(name == other for other, _ in fields):
            raise SqlError(place, f"the field {name} occurs twice: give each its own name")
        fields.append((name, expression(read)))
    return StructOf(tuple(fields), place=place)


def _map(read: Reader, place: Place) -> Expression:
    entries: list[tuple[Expression, Expression]] = []
    while not read.take(")"):
        if entries:
            read.expect(",")
        key = expression(read)
        read.expect(":=")
        entries.append((key, expression(read)))
    return MapOf(tuple(entries), place=place)
