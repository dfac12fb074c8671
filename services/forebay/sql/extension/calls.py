"""Binding of calls of user-defined scalar and table functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from forebay.sql import casts
from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.compiled import STOPS
from forebay.sql.errors import SqlError
from forebay.sql.extension.annotations import ANY_DECIMAL, Parameter
from forebay.sql.extension.conversion import Conversion, pass_value
from forebay.sql.extension.failures import Failures
from forebay.sql.limits import ARRAY_ITEMS, count_call, create_items
from forebay.sql.syntax import Call, Lambda
from forebay.sql.types import BIGINT, INT, NULL, ArrayType, DecimalType, SqlType, as_decimal


def shown_call(name: str, parameters: Sequence[Parameter]) -> str:
    """Return a function's signature as text, such as `F(STRING, [BIGINT])`."""
    return f"{name}({', '.join(map(_word, parameters))})"


def _word(parameter: Parameter) -> str:
    kind = parameter.conversion.type
    word = "a value" if kind is None else "DECIMAL" if kind == ANY_DECIMAL else str(kind)
    return f"{word} ..." if parameter.is_repeated else f"[{word}]" if parameter.is_optional else word


def fit(parameters: Sequence[Parameter], types: Sequence[SqlType]) -> list[tuple[Parameter, SqlType]] | None:
    """Return the parameter and the type of each argument after conversion, or None if the arguments don't fit."""
    expanded = list(parameters)
    if expanded and expanded[-1].is_repeated:
        repeated = expanded.pop()
        expanded += [repeated] * max(0, len(types) - len(expanded))
    needed = sum(1 for parameter in parameters if not parameter.is_optional and not parameter.is_repeated)
    if not needed <= len(types) <= len(expanded):
        return None
    fitting = [(parameter, _fit(parameter.conversion, kind)) for parameter, kind in zip(expanded, types, strict=False)]
    return (
        None if any(kind is None for _, kind in fitting) else [(parameter, kind) for parameter, kind in fitting if kind]
    )


def _fit(conversion: Conversion, kind: SqlType) -> SqlType | None:
    wanted = conversion.type
    if wanted is None:
        return kind
    if wanted == ANY_DECIMAL:
        is_decimal = isinstance(kind, DecimalType) or kind in (INT, BIGINT)
        return as_decimal(kind) if is_decimal else DecimalType(1, 0) if kind == NULL else None
    return wanted if casts.widens(kind, wanted) else None


class ScalarFunction:
    """A Python function as a SQL function. A function that returns an array can be a table function.

    Args:
        result: Conversion of its result.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        parameters: Sequence[Parameter],
        result: Conversion,
        failures: Failures,
    ) -> None:
        self.call = shown_call(name, parameters)
        self._function = function
        self._parameters = parameters
        self._result = result
        self._failures = failures

    def apply(self, make: Binder, call: Call) -> Bound:
        """Return a bound call. Raises SqlError if the arguments don't fit."""
        if any(isinstance(argument, Lambda) for argument in call.arguments):
            raise SqlError(call.place, f"{call.name} takes values, no functions: write a value")
        arguments = [make.of(argument) for argument in call.arguments]
        fitting = fit(self._parameters, [argument.type for argument in arguments])
        if fitting is None:
            types = ", ".join(str(argument.type) for argument in arguments)
            raise SqlError(call.place, f"{call.name}({types}) does not exist: write {self.call}")
        values = [make.cast(argument, kind, call) for argument, (_, kind) in zip(arguments, fitting, strict=True)]
        caller = self._caller([parameter for parameter, _ in fitting])
        result = self._result.type
        assert result is not None
        # Without `takes_null`, a null makes the result null.
        strict = [at for at, (parameter, _) in enumerate(fitting) if not parameter.takes_null]
        return make.call(call.name, caller, values, result, strict, is_limited=True)

    def _caller(self, parameters: Sequence[Parameter]) -> Callable[..., Any]:
        """Return a wrapper that converts the arguments and the result, and checks the size of the result."""
        function, failures = self._function, self._failures
        gives = [parameter.conversion.give for parameter in parameters]
        is_plain = all(give is pass_value for give in gives)
        take, is_array = self._result.take, isinstance(self._result.type, ArrayType)

        def call(*values: Any) -> Any:
            count_call()
            try:
                given = (
                    values
                    if is_plain
                    else [None if value is None else give(value) for give, value in zip(gives, values, strict=True)]
                )
                result = function(*given)
                if result is None:
                    return None
                if is_array and not hasattr(result, "__len__"):
                    result = list(islice(result, ARRAY_ITEMS + 1))
                converted = take(result)
            except STOPS:
                raise
            except Exception as error:
                failures.log(error, "its column is null")
                raise
            if is_array:
                create_items(len(converted), call_name)
            return converted

        call_name = self.call
        return call
