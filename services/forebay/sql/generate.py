"""Code generator from bound expressions to Python source, which is compiled once per statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from forebay.sql import limits
from forebay.sql.bound import (
    Bound,
    BoundCall,
    BoundCase,
    BoundCoalesce,
    BoundColumn,
    BoundLambda,
    BoundLiteral,
    BoundLogic,
    BoundMap,
    BoundNullIf,
    BoundRow,
    is_known,
)
from forebay.sql.compiled import SIMPLE, attempt, compile_tuple, first_known, refuse_null


def function_of(
    parameters: str, expressions: Iterable[Bound], *, catches: bool = True
) -> Callable[..., tuple[Any, ...]]:
    """Return a function that returns the values of expressions as a tuple. If an expression raises, its value is null.

    Args:
        parameters: Parameters of the function, separated by commas. `k, r, w` are key, row and window.
        expressions: The bound expressions.
        catches: Whether a part that fails can be null while the expression is not.
    """
    write = Generator(catches=catches)
    sources = [write.of(expression) for expression in expressions]
    return compile_tuple(parameters, sources, write.namespace)


class Generator:
    """Generator of the source of one function's expressions.

    Args:
        catches: Whether a part that fails can be null while the expression is not.
    """

    def __init__(self, *, catches: bool = True) -> None:
        self._catches = catches
        self.namespace: dict[str, Any] = {}
        """Constants by their names in the source."""
        self._names: dict[int, str] = {}
        self._temporaries = 0

    def of(self, expression: Bound) -> str:
        """Return the source of an expression. If evaluating it fails, the value of its column is null."""
        match expression:
            case BoundLiteral(value):
                return self._constant(value) if isinstance(value, Decimal) else repr(value)
            case BoundColumn(source):
                return source
            case BoundCall():
                return self._call(expression)
            case BoundLogic():
                return self._logic(expression)
            case BoundCase():
                return self._case(expression)
            case BoundCoalesce():
                return self._coalesce(expression)
            case BoundNullIf(value, other):
                name, test = self._once(self._argument(value))
                return f"(None if {test or name} == {self._argument(other)} else {name})"
            case BoundRow(parts):
                return f"({''.join(self._attempt(part) + ', ' for part in parts)})"
            case BoundMap(entries):
                pairs = ", ".join(f"{self._attempt(key)}: {self._attempt(value)}" for key, value in entries)
                return "{" + pairs + "}"
            case BoundLambda(parameters, body):
                # A lambda can be called any number of times, so the counters must be reset for each record.
                self._constant(limits.begin)
                return f"(lambda {', '.join(parameter.source for parameter in parameters)}: {self._part(body)})"

    def _call(self, call: BoundCall) -> str:
        tests, names = [], []
        for at, argument in enumerate(call.arguments):
            name, test = self._argument(argument) if call.is_function else self._part(argument), ""
            if at in call.strict:
                name, test = self._once(name)
            if test:
                tests.append(f"{test} is None")
            names.append(name)
        if call.is_limited:
            self._constant(limits.begin)
        functions = {name: self._constant(function) for name, function in call.functions.items()}
        outcome = call.template.format(*names, **functions)
        return f"({call.null} if {' or '.join(tests)} else {outcome})" if tests else outcome

    def _case(self, case: BoundCase) -> str:
        result = self._part(case.default)
        for condition, value in reversed(case.whens):
            name, test = self._once(self._part(condition))
            if test and case.is_java and not is_known(condition):
                result = f"{self._constant(refuse_null)}() if {name} is None else {result}"
            result = f"({self._part(value)} if {test or name} else {result})"
        return result

    def _coalesce(self, coalesce: BoundCoalesce) -> str:
        *sources, result = map(self._argument if coalesce.is_java else self._attempt, coalesce.values)
        if coalesce.is_java and not all(map(SIMPLE.fullmatch, (*sources[1:], result))):
            return f"{self._constant(first_known)}({', '.join((*sources, result))})"
        for source in reversed(sources):
            name, test = self._once(source)
            result = f"({name} if {test} is not None else {result})" if test else name
        return result

    def _logic(self, logic: BoundLogic) -> str:
        if logic.is_java:
            return self._java_logic(logic)
        decides, rest = ("False", "True") if logic.name == "AND" else ("True", "False")
        one, first = self._once(self._part(logic.left))
        other, second = self._once(self._part(logic.right))
        return (
            f"({decides} if {first or one} is {decides} else {decides} if {second or other} is {decides} "
            f"else None if {one} is None or {other} is None else {rest})"
        )

    def _java_logic(self, logic: BoundLogic) -> str:
        right = self._part(logic.right)
        # If the left side is None, Python's `and` returns None, as required.
        if logic.name == "AND" or is_known(logic.left):
            return f"({self._part(logic.left)} {logic.name.lower()} {right})"
        name, test = self._once(self._part(logic.left))
        return f"(True if {test or name} else None if {name} is None else {right})"

    def _once(self, source: str) -> tuple[str, str]:
        """Return the name of a value that is used several times, and its first use, which is "" if it is never null."""
        if SIMPLE.fullmatch(source):
            return source, "" if source[0] in "-'0123456789" or source in ("True", "False") else source
        self._temporaries += 1
        name = f"t{self._temporaries}"
        return name, f"({name} := {source})"

    def _part(self, expression: Bound) -> str:
        """Return the source of a part of an expression. If it fails, the expression fails, except if it is a CAST."""
        catches = isinstance(expression, BoundCall) and expression.catches
        return self._attempt(expression) if catches else self.of(expression)

    def _argument(self, expression: Bound) -> str:
        """Return the source of a function's argument, which is null if it is a call or a cast that fails."""
        is_call = isinstance(expression, BoundCall) and (expression.is_function or expression.name == "CAST")
        return self._attempt(expression) if is_call or isinstance(expression, BoundNullIf) else self._part(expression)

    def _attempt(self, expression: Bound) -> str:
        """Return the source of a value. If it fails, it is null, and other values of the row are not affected."""
        source = self.of(expression)
        is_safe = not self._catches or SIMPLE.fullmatch(source)
        return source if is_safe else f"{self._constant(attempt)}(lambda: {source})"

    def _constant(self, value: Any) -> str:
        """Return the name of a constant in the source."""
        name = self._names.setdefault(id(value), f"c{len(self._names)}")
        self.namespace[name] = value
        return name
