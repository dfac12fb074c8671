"""Bound expressions become Python source, once per statement."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from forebay.sql.binding import Binder
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
from forebay.sql.compiled import SIMPLE, attempt, constant_of
from forebay.sql.plan import Code


def code_of(make: Binder, expression: Bound, shown: str) -> Code:
    """Return the code of a bound expression, with the constants that its binder named."""
    return Code(source_of(make, expression), expression.type, make.namespace, shown, expression)


def source_of(make: Binder, expression: Bound) -> str:
    """Return the source of a bound expression; the constants of it are added to those of its binder."""
    return _Generator(make.namespace).of(expression)


class _Generator:
    """Writes one expression.

    Args:
        namespace: constants by the names under which the source finds them.
    """

    def __init__(self, namespace: dict[str, Any]) -> None:
        self._namespace = namespace
        self._temporaries = 0

    def of(self, expression: Bound) -> str:
        """Return the source of an expression."""
        match expression:
            case BoundLiteral(value):
                return constant_of(self._namespace, value) if isinstance(value, Decimal) else repr(value)
            case BoundColumn(source):
                return source
            case BoundCall():
                return self._call(expression)
            case BoundLogic():
                return self._logic(expression)
            case BoundCase():
                return self._case(expression)
            case BoundCoalesce(values):
                *sources, result = map(self._attempt, values)
                for source in reversed(sources):
                    name, test = self._once(source)
                    result = f"({name} if {test} is not None else {result})" if test else name
                return result
            case BoundNullIf(value, other):
                name, test = self._once(self.of(value))
                return f"(None if {test or name} == {self.of(other)} else {name})"
            case BoundRow(parts):
                return f"({''.join(self._attempt(part) + ', ' for part in parts)})"
            case BoundMap(entries):
                pairs = ", ".join(f"{self._attempt(key)}: {self._attempt(value)}" for key, value in entries)
                return "{" + pairs + "}"
            case BoundLambda(parameters, body):
                return f"(lambda {', '.join(parameter.source for parameter in parameters)}: {self.of(body)})"

    def _call(self, call: BoundCall) -> str:
        tests, names = [], []
        for at, argument in enumerate(call.arguments):
            name, test = self.of(argument), ""
            if at in call.strict:
                name, test = self._once(name)
            if test:
                tests.append(f"{test} is None")
            names.append(name)
        outcome = call.template.format(*names)
        return f"({call.null} if {' or '.join(tests)} else {outcome})" if tests else outcome

    def _case(self, case: BoundCase) -> str:
        result = self.of(case.default)
        for condition, value in reversed(case.whens):
            name, test = self._once(self.of(condition))
            if test and case.is_java and not is_known(condition):
                result = f"None if {name} is None else {result}"
            result = f"({self.of(value)} if {test or name} else {result})"
        return result

    def _logic(self, logic: BoundLogic) -> str:
        if logic.is_java:
            return self._java_logic(logic)
        decides, rest = ("False", "True") if logic.name == "AND" else ("True", "False")
        one, first = self._once(self.of(logic.left))
        other, second = self._once(self.of(logic.right))
        return (
            f"({decides} if {first or one} is {decides} else {decides} if {second or other} is {decides} "
            f"else None if {one} is None or {other} is None else {rest})"
        )

    def _java_logic(self, logic: BoundLogic) -> str:
        right = self.of(logic.right)
        if logic.name == "AND" or is_known(logic.left):  # Python's `and` gives a left None back
            return f"({self.of(logic.left)} {logic.name.lower()} {right})"
        name, test = self._once(self.of(logic.left))
        return f"(True if {test or name} else None if {name} is None else {right})"

    def _once(self, source: str) -> tuple[str, str]:
        """Return the name of a value to be used several times, and its first use; "" where it is never null."""
        if SIMPLE.fullmatch(source):
            return source, "" if source[0] in "-'0123456789" or source in ("True", "False") else source
        self._temporaries += 1
        name = f"t{self._temporaries}"
        return name, f"({name} := {source})"

    def _attempt(self, expression: Bound) -> str:
        """Return the source of a value that is null if it fails, without affecting the other values of the row."""
        source = self.of(expression)
        return source if SIMPLE.fullmatch(source) else f"{constant_of(self._namespace, attempt)}(lambda: {source})"
