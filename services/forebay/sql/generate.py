"""Expressions become Python source, once per statement, with the type of what they give."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple, Protocol

from forebay.sql import casts, coercion, limits, operators
from forebay.sql.compiled import SIMPLE, attempt
from forebay.sql.errors import SqlError
from forebay.sql.literals import type_of_literal
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
    StructOf,
)
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    INT,
    NULL,
    STRING,
    ArrayType,
    MapType,
    SqlType,
    StructType,
)

_NUMBERS = count()
"""Constants of all expressions have names of their own, so that code can be put together."""


_FEW_VALUES = 16
"""Texts and arrays that an expression may create without counting their sizes."""


class Typed(NamedTuple):
    """Source of an expression, and the type of its value."""

    source: str
    type: SqlType


class Names(Protocol):
    """What columns mean where an expression stands."""

    def resolve(self, column: Column) -> Typed:
        """Return a column's source and type. Raises SqlError."""
        ...


class Functions(Protocol):
    """The functions there are."""

    def apply(self, make: Generator, call: Call) -> Typed:
        """Return the source of a call. Raises SqlError."""
        ...


class Generator:
    """Makes Python of expressions.

    Args:
        replaced: expressions that have a source already, such as what a query is grouped by.
        standard: whether a comparison with null is unknown, not false.
    """

    def __init__(
        self,
        names: Names,
        functions: Functions,
        replaced: dict[Expression, Typed] | None = None,
        *,
        standard: bool = False,
    ) -> None:
        self.standard = standard
        self.names = names
        self.functions = functions
        self.replaced = replaced or {}
        self.namespace: dict[str, Any] = {}
        self._temporaries = 0
        self._sized = 0
        self._parameters: list[dict[str, Typed]] = []

    def constant(self, value: Any) -> str:
        """Return the name under which generated code finds a value."""
        for name, other in self.namespace.items():
            if other is value:
                return name
        name = f"c{next(_NUMBERS)}"
        self.namespace[name] = value
        return name

    def of(self, expression: Expression) -> Typed:
        """Return an expression's source and type. Raises SqlError."""
        result = self.replaced.get(expression)
        if result is not None:
            return result
        match expression:
            case Literal(value):
                return self._literal(value)
            case Column(name, source):
                return self._column(expression, name, source)
            case Call():
                outcome = operators.apply(self, expression)
                return self._counting(outcome if outcome is not None else self.functions.apply(self, expression))
            case Cast(value, kind):
                return self._counting(self.cast(self.of(value), kind, expression))
            case Case(whens, default):
                return self._case(whens, default, expression)
            case Field(struct, name):
                return self._field(self.of(struct), name, expression)
            case Item(container, index):
                return self._item(self.of(container), self.of(index), expression)
            case StructOf(fields):
                parts = [(name, self.of(value)) for name, value in fields]
                kind = StructType(tuple((name, part.type) for name, part in parts))
                return Typed(f"({''.join(self.attempt(part.source) + ', ' for _, part in parts)})", kind)
            case ArrayOf(items):
                parts_, item = self.all_alike(items, expression)
                return Typed(f"({''.join(self.attempt(part) + ', ' for part in parts_)})", ArrayType(item))
            case MapOf(entries):
                keys, key = self.all_alike([name for name, _ in entries], expression)
                values, value_kind = self.all_alike([value for _, value in entries], expression)
                pairs = ", ".join(f"{self.attempt(k)}: {self.attempt(v)}" for k, v in zip(keys, values, strict=True))
                return Typed("{" + pairs + "}", MapType(key, value_kind))
        raise SqlError(expression.place, f"{_word(expression)} can't stand here: write a value")

    @property
    def in_lambda(self) -> bool:
        """Whether the expression is in the body of a lambda, which one record may call any number of times."""
        return bool(self._parameters)

    def limit(self) -> None:
        """Have the time and size counted that a record takes: its expressions could take any amount."""
        self.constant(limits.begin)

    def _counting(self, value: Typed) -> Typed:
        """Return a value whose size is counted, if it is in a lambda or among many others."""
        if not isinstance(value.type, ArrayType | MapType) and value.type not in (STRING, BYTES):
            return value
        self._sized += 1
        if not self.in_lambda and self._sized <= _FEW_VALUES:
            return value
        self.limit()
        return Typed(f"{self.constant(limits.count_created)}({value.source})", value.type)

    def apply(self, template: str, arguments: Sequence[Typed], result: SqlType, null: str = "None") -> Typed:
        """Return a template of {0}, {1}... with the arguments' sources; `null` where an argument is null."""
        tests, names = [], []
        for argument in arguments:
            if argument.type == NULL:
                return Typed(null, result)
            name, test = self.once(argument.source)
            if test:
                tests.append(f"{test} is None")
            names.append(name)
        outcome = template.format(*names)
        return Typed(f"({null} if {' or '.join(tests)} else {outcome})" if tests else outcome, result)

    def once(self, source: str) -> tuple[str, str]:
        """Return the name of a value to be used several times, and its first use; "" where it is never null."""
        if SIMPLE.fullmatch(source):
            return source, "" if source[0] in "-'0123456789" or source in ("True", "False") else source
        self._temporaries += 1
        name = f"t{self._temporaries}"
        return name, f"({name} := {source})"

    def attempt(self, source: str) -> str:
        """Return the source of a value that is null if it fails, without affecting the other values of the row."""
        return source if SIMPLE.fullmatch(source) else f"{self.constant(attempt)}(lambda: {source})"

    def cast(self, value: Typed, kind: SqlType, where: Expression) -> Typed:
        """Return a value as another type. Raises SqlError where that can't be."""
        try:
            cast = casts.caster(value.type, kind)
        except TypeError as error:
            raise SqlError(where.place, f"{error}: give a value of another type") from error
        if cast is None:
            return Typed(value.source, kind)
        name = "float" if cast is float else self.constant(cast)
        return self.apply(f"{name}({{0}})", [value], kind)

    def alike(self, values: Sequence[Typed], where: Expression) -> tuple[list[str], SqlType]:
        """Return the sources of values as their common type. Raises SqlError."""
        return coercion.alike(self, values, where)

    def all_alike(self, expressions: Sequence[Expression], where: Expression) -> tuple[list[str], SqlType]:
        """Return the sources of expressions as their common type. Raises SqlError."""
        return self.alike([self.of(expression) for expression in coercion.convert_nested(self, expressions)], where)

    def function(self, parameters: Sequence[SqlType], made: Lambda, result: SqlType | None = None) -> Typed:
        """Return the source of a function written in place, and what it gives, or that as a type. Raises SqlError."""
        if len(parameters) != len(made.parameters):
            raise SqlError(made.place, f"the function takes {len(made.parameters)} values, it gets {len(parameters)}")
        depth = sum(len(parameter) for parameter in self._parameters)
        names = {
            name: Typed(f"p{depth + at}", kind)
            for at, (name, kind) in enumerate(zip(made.parameters, parameters, strict=True))
        }
        self.limit()
        self._parameters.append(names)
        try:
            body = self.of(made.body)
            if result is not None:
                body = self.cast(body, result, made.body)
        finally:
            self._parameters.pop()
        return Typed(f"(lambda {', '.join(name.source for name in names.values())}: {body.source})", body.type)

    def _column(self, column: Column, name: str, source: str) -> Typed:
        if not source:
            for names in reversed(self._parameters):
                if name in names:
                    return names[name]
        return self.names.resolve(column)

    def _literal(self, value: Any) -> Typed:
        return Typed(self.constant(value) if isinstance(value, Decimal) else repr(value), type_of_literal(value))

    def _case(
        self, whens: Sequence[tuple[Expression, Expression]], default: Expression | None, where: Expression
    ) -> Typed:
        values = [self.of(value) for _, value in whens]
        values.append(self.of(default) if default is not None else Typed("None", NULL))
        sources, kind = self.alike(values, where)
        if kind == NULL:
            raise SqlError(where.place, "every value of this CASE is null: give one a type with CAST")
        result = sources[-1]
        for (condition, _), source in zip(reversed(whens), reversed(sources[:-1]), strict=True):
            result = f"({source} if {self.condition(condition).source} else {result})"
        return Typed(result, kind)

    def condition(self, expression: Expression) -> Typed:
        """Return a condition's source. Raises SqlError where it is none."""
        result = self.of(expression)
        if result.type not in (BOOLEAN, NULL):
            raise SqlError(expression.place, f"this is {result.type}, not a condition: compare it with something")
        return result

    def _field(self, struct: Typed, name: str, where: Expression) -> Typed:
        if not isinstance(struct.type, StructType):
            raise SqlError(where.place, f"-> {name} needs a STRUCT, this is {struct.type}")
        at = struct.type.index(name)
        if at is None:
            named = ", ".join(field for field, _ in struct.type.fields)
            raise SqlError(where.place, f"the struct has no field {name}: write one of {named}")
        return self.apply(f"{{0}}[{at}]", [struct], struct.type.fields[at][1])

    def _item(self, container: Typed, index: Typed, where: Expression) -> Typed:
        match container.type:
            case ArrayType(item) if index.type in (INT, BIGINT):
                return self.apply(f"{self.constant(operators.item)}({{0}}, {{1}})", [container, index], item)
            case MapType(key, value):
                return self.apply("{0}.get({1})", [container, self.cast(index, key, where)], value)
        raise SqlError(
            where.place, f"[] needs an ARRAY and a whole number, or a MAP and a key; this is {container.type}"
        )


def _word(expression: Expression) -> str:
    return {"Star": "*", "Lambda": "a function"}.get(type(expression).__name__, "this")
