"""Handles for `StatefulProcessor.init`, which collect the state variables or return the states of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NoReturn

from pyspark.errors import PySparkRuntimeError
from pyspark.sql.streaming.stateful_processor import (
    ListState,
    MapState,
    StatefulProcessorHandle,
    ValueState,
)
from pyspark.sql.types import StructType

from forebay.formats import Format
from forebay.stateful.formats import MapKeys, map_keys, state_format
from forebay.stateful.states import Grouping, TaskListState, TaskMapState, TaskValueState
from forebay.stateful.stores import ExpiringStateStore, Shape, StateStore

Schema = StructType | str
State = TaskValueState | TaskListState | TaskMapState


class TimeMode(StrEnum):
    """Spark's time modes."""

    NONE = "none"
    PROCESSING_TIME = "processingtime"
    EVENT_TIME = "eventtime"


class HandleError(PySparkRuntimeError):
    """A handle was used in a way that Spark does not allow either."""


@dataclass(frozen=True)
class Variable:
    """A state variable.

    Args:
        keys: Encoder of the keys, if the variable is a map.
        ttl_ms: Time to live (ms) of a value, an element or an entry. None means that it does not expire.
    """

    name: str
    shape: Shape
    format: Format[Any]
    keys: MapKeys | None
    ttl_ms: int | None

    def store(self, prefix: str) -> StateStore | ExpiringStateStore:
        """Return the declaration of the variable's store."""
        name = f"{prefix}-{self.name}"
        if self.ttl_ms is None:
            return StateStore(name, self.format, self.shape)
        return ExpiringStateStore(name, self.format, self.shape, self.ttl_ms)

    def state(self, grouping: Grouping, store: StateStore | ExpiringStateStore) -> State:
        """Return the state object that reads and writes a task's store."""
        if self.shape is Shape.VALUE:
            return TaskValueState(grouping, store)
        if self.shape is Shape.LIST:
            return TaskListState(grouping, store)
        assert self.keys is not None
        return TaskMapState(grouping, store, self.keys)


class DeclaringHandle(StatefulProcessorHandle):
    """Handle that collects the state variables that `init` requests, when the topology is built.

    Spark also calls `init` once on its driver for this purpose.
    """

    def __init__(self, mode: TimeMode) -> None:
        self._mode = mode
        self._grouping = Grouping()
        self.variables: dict[str, Variable] = {}
        self.deleted: dict[str, Variable] = {}
        """Variables that `init` requests and then deletes."""

    def getValueState(self, stateName: str, schema: Schema, ttlDurationMs: int | None = None) -> ValueState:
        return self._declare(Shape.VALUE, stateName, schema, None, ttlDurationMs)  # type: ignore[return-value]

    def getListState(self, stateName: str, schema: Schema, ttlDurationMs: int | None = None) -> ListState:
        return self._declare(Shape.LIST, stateName, schema, None, ttlDurationMs)  # type: ignore[return-value]

    def getMapState(
        self, stateName: str, userKeySchema: Schema, valueSchema: Schema, ttlDurationMs: int | None = None
    ) -> MapState:
        return self._declare(Shape.MAP, stateName, valueSchema, userKeySchema, ttlDurationMs)  # type: ignore[return-value]

    def deleteIfExists(self, stateName: str) -> None:
        variable = self.variables.pop(stateName, None)
        if variable is not None:
            self.deleted[stateName] = variable

    def registerTimer(self, expiryTimestampMs: int) -> None:
        _refuse_in_init("registerTimer()")

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        _refuse_in_init("deleteTimer()")

    def listTimers(self) -> Iterator[int]:
        _refuse_in_init("listTimers()")

    def _declare(self, shape: Shape, name: str, schema: Schema, keys: Schema | None, ttl_ms: Any) -> State:
        where = f"state {name}"
        if name in self.variables:
            raise HandleError(f"{where} is declared twice in init(): give each state variable its own name")
        if ttl_ms is not None:
            if self._mode is not TimeMode.PROCESSING_TIME:
                raise HandleError(f'{where} has a time to live, which needs time_mode="ProcessingTime"')
            if isinstance(ttl_ms, bool) or not isinstance(ttl_ms, int) or ttl_ms <= 0:
                raise HandleError(f"{where}: ttlDurationMs is {ttl_ms!r}: specify a positive number of ms")
        written = None if keys is None else map_keys(keys, where)
        variable = Variable(name, shape, state_format(schema, where), written, ttl_ms)
        self.variables[name] = variable
        return variable.state(self._grouping, NoRows("there is no grouping key in init()"))  # type: ignore[arg-type]


class NoRows:
    """Rows of a state variable that can't be used. Every access raises an error.

    Args:
        reason: Reason, which the error message contains.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def __getattr__(self, name: str) -> NoReturn:
        # The message begins like Spark's message, because a user's class may check for this text.
        raise HandleError(f"Error checking value state exists, or reading or changing state: {self._reason}")


class TaskHandle(StatefulProcessorHandle):
    """Handle that returns the states of a task during `init`, and sets timers afterwards.

    Args:
        states: States by name of the state variable.
        timers: Functions for the timers of the current grouping key. None if the time mode has no timers.
    """

    def __init__(self, states: Mapping[str, State], timers: TimerCalls | None) -> None:
        self._states, self._timers = dict(states), timers
        self.is_initialized = False

    def getValueState(self, stateName: str, schema: Schema, ttlDurationMs: int | None = None) -> ValueState:
        return self._state(stateName)  # type: ignore[no-any-return]

    def getListState(self, stateName: str, schema: Schema, ttlDurationMs: int | None = None) -> ListState:
        return self._state(stateName)  # type: ignore[no-any-return]

    def getMapState(
        self, stateName: str, userKeySchema: Schema, valueSchema: Schema, ttlDurationMs: int | None = None
    ) -> MapState:
        return self._state(stateName)  # type: ignore[no-any-return]

    def deleteIfExists(self, stateName: str) -> None:
        if self.is_initialized:
            raise HandleError(f"deleteIfExists({stateName!r}) was called after init(): call it in init()")

    def registerTimer(self, expiryTimestampMs: int) -> None:
        self._of_timers().register(_whole_ms(expiryTimestampMs))

    def deleteTimer(self, expiryTimestampMs: int) -> None:
        self._of_timers().delete(_whole_ms(expiryTimestampMs))

    def listTimers(self) -> Iterator[int]:
        return iter(self._of_timers().list())

    def _state(self, name: str) -> Any:
        if self.is_initialized:
            raise HandleError(f"state {name} is requested after init(): request all state variables in init()")
        if name not in self._states:
            raise HandleError(f"init() asks for the state {name} in a task, but did not as the topology was built")
        return self._states[name]

    def _of_timers(self) -> TimerCalls:
        if not self.is_initialized:
            _refuse_in_init("a timer")
        if self._timers is None:
            raise HandleError('timers need a time mode: give time_mode="ProcessingTime" or "EventTime"')
        return self._timers


@dataclass(frozen=True)
class TimerCalls:
    """The functions with which a handle registers, deletes and lists timers of the current grouping key."""

    register: Callable[[int], None]
    delete: Callable[[int], None]
    list: Callable[[], list[int]]


def _whole_ms(expiry: Any) -> int:
    expiry = expiry.item() if type(expiry).__module__ == "numpy" else expiry
    if isinstance(expiry, bool) or not isinstance(expiry, int):
        raise HandleError(f"a timer's expiry is {expiry!r} ({type(expiry).__name__}): specify a whole number of ms")
    return expiry


def _refuse_in_init(what: str) -> NoReturn:
    raise HandleError(f"{what} can't be used in init(): there is no grouping key yet")
