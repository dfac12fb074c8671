"""Binding of expressions: resolution of names and functions, with the types and casts that are needed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from forebay.sql import casts, coercion, limits, operators
from forebay.sql.bound import (
    NOTHING,
    Bound,
    BoundCall,
    BoundCase,
    BoundColumn,
    BoundLambda,
    BoundLiteral,
    BoundMap,
    BoundRow,
    Callables,
)
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

_NONE: Callables = {}
_FEW_VALUES = 16
"""Number of texts, arrays and maps that an expression may create before their sizes are counted."""


class Names(Protocol):
    """The columns that an expression can refer to."""

    def resolve(self, column: Column) -> Bound:
        """Return the bound column, with its position and type. Raises SqlError."""
        ...


class Functions(Protocol):
    """The functions that an expression can call."""

    def apply(self, make: Binder, call: Call) -> Bound:
        """Return a bound call. Raises SqlError."""
        ...


class Binder:
    """Binder of expressions.

    Args:
        names: The columns that expressions can refer to.
        functions: The functions that expressions can call.
        replaced: Expressions that are already bound, such as those of GROUP BY.
        standard: Whether a comparison with null is unknown instead of false.
    """

    def __init__(
        self,
        names: Names,
        functions: Functions,
        replaced: Mapping[Expression, Bound] | None = None,
        *,
        standard: bool = False,
    ) -> None:
        self.standard = standard
        self.names = names
        self.functions = functions
        self.replaced = replaced or {}
        self._sized = 0
        self._parameters: list[dict[str, BoundColumn]] = []

    def of(self, expression: Expression) -> Bound:
        """Return a bound expression. Raises SqlError."""
        result = self.replaced.get(expression)
        if result is not None:
            return result
        match expression:
            case Literal(value):
                return BoundLiteral(value, type_of_literal(value))
            case Column(name, source):
                return self._column(expression, name, source)
            case Call():
                operator = operators.apply(self, expression)
                return self._counting(self._function(expression) if operator is None else operator)
            case Cast(value, kind):
                cast = self.cast(self.of(value), kind, expression)
                return self._counting(replace(cast, catches=True) if isinstance(cast, BoundCall) else cast)
            case Case(whens, default):
                return self._case(whens, default, expression)
            case Field(struct, name):
                return self._field(self.of(struct), name, expression)
            case Item(container, index):
                return self._item(self.of(container), self.of(index), expression)
            case StructOf(fields):
                parts = [(name, self.of(value)) for name, value in fields]
                kind = StructType(tuple((name, part.type) for name, part in parts))
                return BoundRow(tuple(part for _, part in parts), kind)
            case ArrayOf(items):
                values, item = self.all_alike(items, expression)
                return BoundRow(tuple(values), ArrayType(item))
            case MapOf(entries):
                keys, key = self.all_alike([name for name, _ in entries], expression)
                values, value_kind = self.all_alike([value for _, value in entries], expression)
                return BoundMap(tuple(zip(keys, values, strict=True)), MapType(key, value_kind))
        raise SqlError(expression.place, f"{_word(expression)} can't be used here: write a value")

    @property
    def in_lambda(self) -> bool:
        """Whether the expression is in the body of a lambda, which can be called any number of times per record."""
        return bool(self._parameters)

    def _function(self, call: Call) -> Bound:
        result = self.functions.apply(self, call)
        # AS_VALUE returns its argument, which need not be a call of this function.
        if isinstance(result, BoundCall) and result.name == call.name:
            return replace(result, is_function=True)
        return result

    def _counting(self, value: Bound) -> Bound:
        """Return a value whose size is counted if it is in a lambda or if the expression creates many values.

        Counting limits the memory that a record can use.
        """
        if not isinstance(value.type, ArrayType | MapType) and value.type not in (STRING, BYTES):
            return value
        self._sized += 1
        if not self.in_lambda and self._sized <= _FEW_VALUES:
            return value
        count = {"count": limits.count_created}
        is_function = isinstance(value, BoundCall) and value.is_function
        return BoundCall(
            "", "{count}({0})", (value,), value.type, functions=count, is_limited=True, is_function=is_function
        )

    def call(
        self,
        name: str,
        function: Callable[..., Any],
        arguments: Sequence[Bound],
        result: SqlType,
        strict: Collection[int] = (),
        *,
        is_limited: bool = False,
    ) -> Bound:
        """Return a call of a function. Its value is null if one of the `strict` arguments is null."""
        places = ", ".join(f"{{{at}}}" for at in range(len(arguments)))
        functions = {"call": function}
        return self.apply_to(
            name, f"{{call}}({places})", arguments, result, strict, functions=functions, is_limited=is_limited
        )

    def apply(
        self,
        name: str,
        template: str,
        arguments: Sequence[Bound],
        result: SqlType,
        null: bool | None = None,
        functions: Callables = _NONE,
    ) -> Bound:
        """Return a call of a template with {0}, {1}... for arguments. Its value is `null` if an argument is null."""
        return self.apply_to(name, template, arguments, result, range(len(arguments)), null, functions=functions)

    def apply_to(
        self,
        name: str,
        template: str,
        arguments: Sequence[Bound],
        result: SqlType,
        strict: Collection[int] = (),
        null: bool | None = None,
        *,
        is_limited: bool = False,
        functions: Callables = _NONE,
    ) -> Bound:
        """Return a call of a template. Its value is `null` if one of the `strict` arguments is null."""
        if any(arguments[at].type == NULL for at in strict):
            return BoundLiteral(null, result)
        return BoundCall(name, template, tuple(arguments), result, null, strict, functions, is_limited)

    def cast(self, value: Bound, kind: SqlType, where: Expression) -> Bound:
        """Return a value converted to another type. Raises SqlError if there is no such conversion."""
        try:
            cast = casts.caster(value.type, kind)
        except TypeError as error:
            raise SqlError(where.place, f"{error}: give a value of another type") from error
        if cast is not None:
            return self.call("CAST", cast, [value], kind, (0,))
        if isinstance(value, BoundLiteral):
            return BoundLiteral(value.value, kind)
        # Both types have the same Python representation.
        return value if value.type == kind else BoundCall("CAST", "{0}", (value,), kind)

    def alike(self, values: Sequence[Bound], where: Expression) -> tuple[list[Bound], SqlType]:
        """Return values converted to their common type, and the type. Raises SqlError."""
        return coercion.alike(self, values, where)

    def all_alike(self, expressions: Sequence[Expression], where: Expression) -> tuple[list[Bound], SqlType]:
        """Return bound expressions converted to their common type, and the type. Raises SqlError."""
        return self.alike(coercion.bind_nested(self, expressions), where)

    def function(self, parameters: Sequence[SqlType], made: Lambda, result: SqlType | None = None) -> BoundLambda:
        """Return a bound lambda. Its results are cast to `result` if it is set. Raises SqlError."""
        if len(parameters) != len(made.parameters):
            raise SqlError(made.place, f"the function takes {len(made.parameters)} values, it gets {len(parameters)}")
        depth = sum(len(parameter) for parameter in self._parameters)
        names = {
            name: BoundColumn(f"p{depth + at}", kind, name)
            for at, (name, kind) in enumerate(zip(made.parameters, parameters, strict=True))
        }
        self._parameters.append(names)
        try:
            body = self.of(made.body)
            if result is not None:
                body = self.cast(body, result, made.body)
        finally:
            self._parameters.pop()
        return BoundLambda(tuple(names.values()), body)

    def _column(self, column: Column, name: str, source: str) -> Bound:
        if not source:
            for names in reversed(self._parameters):
                if name in names:
                    return names[name]
        return self.names.resolve(column)

    def _case(
        self, whens: Sequence[tuple[Expression, Expression]], default: Expression | None, where: Expression
    ) -> Bound:
        values = [self.of(value) for _, value in whens]
        values.append(self.of(default) if default is not None else NOTHING)
        values, kind = self.alike(values, where)
        if kind == NULL:
            raise SqlError(where.place, "every value of this CASE is null: give one a type with CAST")
        conditions = [self.condition(condition) for condition, _ in whens]
        return BoundCase(tuple(zip(conditions, values[:-1], strict=True)), values[-1], kind, not self.standard)

    def condition(self, expression: Expression) -> Bound:
        """Return a bound condition. Raises SqlError if the expression is not a BOOLEAN."""
        result = self.of(expression)
        if result.type not in (BOOLEAN, NULL):
            raise SqlError(expression.place, f"this is {result.type}, not a condition: compare it with something")
        return result

    def _field(self, struct: Bound, name: str, where: Expression) -> Bound:
        if not isinstance(struct.type, StructType):
            raise SqlError(where.place, f"-> {name} needs a STRUCT, this is {struct.type}")
        at = struct.type.index(name)
        if at is None:
            named = ", ".join(field for field, _ in struct.type.fields)
            raise SqlError(where.place, f"the struct has no field {name}: write one of {named}")
        return self.apply(f"->{name}", f"{{0}}[{at}]", [struct], struct.type.fields[at][1])

    def _item(self, container: Bound, index: Bound, where: Expression) -> Bound:
        match container.type:
            case ArrayType(item) if index.type in (INT, BIGINT):
                return self.call("[]", operators.item, [container, index], item, (0, 1))
            case MapType(key, value):
                return self.apply("[]", "{0}.get({1})", [container, self.cast(index, key, where)], value)
        raise SqlError(
            where.place, f"[] needs an ARRAY and a whole number, or a MAP and a key; this is {container.type}"
        )


def _word(expression: Expression) -> str:
    return {"Star": "*", "Lambda": "a function"}.get(type(expression).__name__, "this")
