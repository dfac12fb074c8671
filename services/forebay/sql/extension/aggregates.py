"""User-defined classes as aggregate functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from forebay.sql import casts
from forebay.sql.aggregates.registry import Aggregate, Argument
from forebay.sql.compiled import STOPS
from forebay.sql.extension.annotations import Annotated, Parameter, annotations_of, result_of
from forebay.sql.extension.calls import fit, shown_call
from forebay.sql.extension.conversion import Conversion, pass_value
from forebay.sql.extension.failures import Failures
from forebay.sql.types import NULL
from forebay.sql.values import hint_of

_WANTED = {
    "initialize": "def initialize(self) -> State",
    "aggregate": "def aggregate(self, state: State, value: Value) -> State",
    "merge": "def merge(self, one: State, other: State) -> State",
}


class FunctionFailed(Exception):
    """A user-defined aggregate function raised an error, so the record can't be aggregated."""


class AggregateFunction:
    """An aggregate function that is implemented by a user's class.

    Args:
        result: Conversion of its results.
        values: Parameters of `aggregate` after the state.
        literals: Parameters of the class's constructor, which are passed as literals.
    """

    def __init__(
        self,
        kind: type[Any],
        state: Conversion,
        result: Conversion,
        values: Sequence[Parameter],
        literals: Sequence[Parameter],
        failures: Failures,
    ) -> None:
        self.result = result
        self._kind = kind
        self._state = state
        self._values = values
        self._literals = literals
        self._failures = failures

    def call(self, name: str) -> str:
        """Return the function's signature as text."""
        return shown_call(name, [*self._values, *self._literals])

    def of(self, arguments: Sequence[Argument]) -> Aggregate:
        """Return the aggregate for a call. Raises TypeError if the arguments don't fit."""
        number = len(self._values)
        fitting = fit([*self._values, *self._literals], [argument.type for argument in arguments])
        if fitting is None:
            types = ", ".join(str(argument.type) for argument in arguments)
            raise TypeError(f"it does not take ({types}): write {self.call('...')}")
        if any(not argument.is_literal for argument in arguments[number:]):
            raise TypeError(f"the arguments behind the first {number} must be literals: {self.call('...')}")
        function = self._kind(*(argument.literal for argument in arguments[number:]))
        state, failures = self._state, self._failures
        give_state, gives = (
            state.give,
            [_cast(*parameter) for parameter in zip(arguments, fitting, strict=True)][:number],
        )
        skips = [at for at, (parameter, _) in enumerate(fitting[:number]) if not parameter.takes_null]
        kind, result = state.type, self.result.type
        assert kind is not None
        assert result is not None

        def stepping(step: Callable[..., Any]) -> Callable[..., Any]:
            def run(before: Any, *values: Any) -> Any:
                if any(values[at] is None for at in skips):
                    return before
                return attempt(
                    lambda: step(
                        _convert(give_state, before),
                        *[_convert(give, value) for give, value in zip(gives, values, strict=True)],
                    )
                )

            return run

        def attempt(compute: Callable[[], Any]) -> Any:
            try:
                return _convert(state.take, compute())
            except STOPS:
                raise
            except Exception as error:
                raise FunctionFailed(failures.text(error)) from error

        def merge(one: Any, other: Any) -> Any:
            return attempt(lambda: function.merge(_convert(give_state, one), _convert(give_state, other)))

        def outcome(last: Any) -> Any:
            try:
                return _convert(self.result.take, function.map(_convert(give_state, last)))
            except STOPS:
                raise
            except Exception as error:
                failures.log(error, "its column is null")
                return None

        return Aggregate(
            result,
            hint_of(kind),
            attempt(function.initialize),
            stepping(function.aggregate),
            outcome if hasattr(function, "map") else _same,
            merge,
            stepping(function.undo) if hasattr(function, "undo") else None,
            columns=number,
        )


def aggregate_of(kind: type[Any], failures: Failures) -> AggregateFunction:
    """Return the aggregate function that a class implements.

    Raises:
        TypeError: A method or an annotation is missing or wrong. The message names it.
    """
    if not isinstance(kind, type):
        raise TypeError("an aggregate function is a class: write class ...: with initialize, aggregate and merge")
    for name, form in _WANTED.items():
        if not callable(getattr(kind, name, None)):
            raise TypeError(f"it has no method {name}: write {form}")
    initialize = _annotations(kind, "initialize")
    state = result_of(initialize)
    aggregate = _annotations(kind, "aggregate")
    first, *values = aggregate.parameters or (None,)
    if first is None or not values:
        raise TypeError(f"aggregate takes a state and values: write {_WANTED['aggregate']}")
    if any(parameter.is_optional or parameter.is_repeated for parameter in values):
        raise TypeError("aggregate takes a fixed number of values: leave defaults and * out")
    merge = _annotations(kind, "merge")
    states = {"aggregate": [first], "merge": list(merge.parameters)}
    returns = {"aggregate": aggregate, "merge": merge}
    if hasattr(kind, "undo"):
        undo = returns["undo"] = _annotations(kind, "undo")
        states["undo"] = list(undo.parameters[:1])
        if [parameter.conversion.type for parameter in undo.parameters[1:]] != [
            parameter.conversion.type for parameter in values
        ]:
            raise TypeError("undo takes other values than aggregate: give it the same parameters")
    outcome = state
    if hasattr(kind, "map"):
        mapped = _annotations(kind, "map")
        states["map"], outcome = list(mapped.parameters), result_of(mapped)
    for name, parameters in states.items():
        if any(parameter.conversion.type != state.type for parameter in parameters):
            raise TypeError(f"the state is {state.type} by initialize, but {name} takes another type: write one type")
    for name, annotated in returns.items():
        if annotated.result.type != state.type:
            raise TypeError(f"the state is {state.type} by initialize, but {name} returns another type: write one type")
    literals = _literals(kind)
    return AggregateFunction(kind, state, outcome, values, literals, failures)


def _annotations(kind: type[Any], name: str) -> Annotated:
    try:
        return annotations_of(getattr(kind, name), skip=1)
    except TypeError as error:
        raise TypeError(f"{name}: {error}") from error


def _literals(kind: type[Any]) -> Sequence[Parameter]:
    if kind.__init__ is object.__init__:
        return ()
    return annotations_of(kind.__init__, skip=1, returns=False).parameters


def _cast(argument: Argument, fitting: tuple[Parameter, Any]) -> Callable[[Any], Any]:
    """Return a function that casts an argument's value to the type of its parameter, and converts it for Python."""
    parameter, kind = fitting
    cast = None if argument.type == NULL else casts.caster(argument.type, kind)
    give = parameter.conversion.give
    return give if cast is None else lambda value: give(cast(value))


def _convert(convert: Callable[[Any], Any], value: Any) -> Any:
    return value if value is None or convert is pass_value else convert(value)


def _same(value: Any) -> Any:
    return value
