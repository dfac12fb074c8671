"""`transform_with_state`, which processes a stream with a class written for PySpark's transformWithState."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import StructType

from forebay.builder import Stream, TopologyError
from forebay.builder.copartitioning import Side, bring_together
from forebay.builder.joining import check_keys
from forebay.builder.nodes import Bound, Flow, Kind, Made, Node
from forebay.builder.specs import Spec, format_or_refuse
from forebay.processor.bound_stores import missing_methods
from forebay.stateful.ddl import SchemaError
from forebay.stateful.grouping import group_stream, key_tuple
from forebay.stateful.handles import DeclaringHandle, TimeMode, Variable
from forebay.stateful.rows import row_maker, value_maker
from forebay.stateful.running import Plan, Runner
from forebay.stateful.stores import TimerStore
from forebay.time.durations import Duration, ms_of

TIMER_INTERVAL_MS = 100
"""Interval (ms) between checks for due processing-time timers and expired state."""


def transform_with_state(
    stream: Stream[Any, Any],
    stateful_processor: StatefulProcessor | Callable[[], StatefulProcessor],
    output: Spec[Any],
    *,
    group_by: str | Sequence[str] | None = None,
    time_mode: str = "None",
    watermark_delay_ms: Duration = 0,
    initial_state: Stream[Any, Any] | None = None,
    input_schema: StructType | str | None = None,
    name: str = "",
) -> Stream[Any, Any]:
    """Return a stream of the rows that a PySpark `StatefulProcessor` returns for the records of a stream.

    `handleInputRows` is called once per record. State is stored in stores named `<name>-<state variable>`.

    Args:
        stream: The input.
        stateful_processor: The class, an instance, or a function that creates an instance. Each task has its own
            instance. If you pass an instance, it is copied by pickling, as in Spark.
        output: Record class or `Format` of the rows that the class returns.
        group_by: Columns that are the grouping key. The default is the stream's key.
        time_mode: "None", "ProcessingTime" or "EventTime".
        watermark_delay_ms: In event time, how far the watermark is behind the largest event time (ms or a timedelta).
        initial_state: Rows for `handleInitialState`, with the same grouping columns. Read them with
            `timestamp=lambda row: 1`, so that they are processed before all records.
        input_schema: Names and types of the input's columns, if they differ from the fields of the record. Columns of
            the types `timestamp` and `date` become Python's `datetime` and `date`.
        name: Prefix of the names of stores and timers. The default is the name of the class.

    Raises:
        TopologyError: The class can't be used. The message says why.
    """
    processor = _Class(stateful_processor)
    name, mode = name or processor.name, _time_mode(time_mode)
    where = f"transform_with_state {name}"
    delay_ms = _delay_ms(watermark_delay_ms, mode, where)
    into = format_or_refuse(output)
    handle = processor.declare(mode, where)
    variables = handle.variables
    stores = {variable.name: _store(variable, name, where) for variable in variables.values()}
    map_key_identities = {
        stores[variable.name].name: (variable.keys.identity,)
        for variable in variables.values()
        if variable.keys is not None
    }
    timers = None if mode is TimeMode.NONE else TimerStore(f"{name}-timers")
    main = group_stream(stream, group_by)
    parents = (main.partition_by_key(name),)
    if initial_state is not None:
        first = group_stream(initial_state, group_by)
        check_keys(parents[0], first.node, f"{where}: initial_state")
        sides = (
            Side(parents[0], f"{name}-input"),
            Side(first.partition_by_key(f"{name}-initial"), f"{name}-initial-state"),
        )
        parents = bring_together(stream.graph, sides)  # type: ignore[assignment]
    declared = (*stores.values(), *(() if timers is None else (timers,)))
    for store in declared:
        store.key_identity = ["state key", parents[0].key.identity, *map_key_identities.get(store.name, ())]
    plan = Plan(
        label=f"process {name}: ",
        mode=mode,
        make=processor.make,
        variables=variables,
        deleted=handle.deleted,
        stores=stores,
        timers=timers,
        delay_ms=delay_ms,
        key_of=key_tuple(parents[0].key),
        row_of=row_maker(parents[0].value, input_schema),
        initial_row_of=None if initial_state is None else row_maker(parents[1].value, None),  # type: ignore[misc]
        value_of=value_maker(into, processor.name),
    )
    ticks = TIMER_INTERVAL_MS if mode is TimeMode.PROCESSING_TIME else 0
    node = Node(
        Kind.STEP,
        f"process {name}",
        parents[0].key,
        into,
        parents,
        stores=declared,
        make=_making(plan, mode),
        wall_clock_ms=ticks,
    )
    return Stream(stream.graph, stream.graph.add(node))


def _making(plan: Plan, mode: TimeMode) -> Callable[[Bound, Flow], Made]:
    def make(bound: Bound, out: Flow) -> Made:
        runner = Runner(plan, bound, out)
        flows = (runner.take,) if plan.initial_row_of is None else (runner.take, runner.take_initial)
        return Made(
            flows,
            plan.label,
            runner.on_timer if mode is TimeMode.EVENT_TIME else None,
            runner.on_wall_clock if mode is TimeMode.PROCESSING_TIME else None,
        )

    return make


class _Class:
    """The user's class, with a function that creates an instance for each task."""

    def __init__(self, given: Any) -> None:
        missing = missing_methods(given)
        if missing:
            raise TopologyError(f"{given.__name__} of {given.__module__} lacks {missing}: define it there")
        self.make: Callable[[], StatefulProcessor] = given
        if isinstance(given, StatefulProcessor):
            pickled = _pickle(given)
            self.make = lambda: cloudpickle.loads(pickled)
        self._first = self._create(given)
        self.name = type(self._first).__name__

    def _create(self, given: Any) -> StatefulProcessor:
        try:
            result: Any = self.make() if isinstance(given, StatefulProcessor) or callable(given) else given
        except Exception as error:
            raise TopologyError(f"{given!r:.80} can't be created: {type(error).__name__}: {error}") from error
        if not isinstance(result, StatefulProcessor):
            raise TopologyError(
                f"{result!r:.80} is not a StatefulProcessor: give a class that is derived from "
                "pyspark.sql.streaming.StatefulProcessor, or an instance of one"
            )
        if result is not given and self.make() is result:
            raise TopologyError(
                f"the function returns the same {type(result).__name__} in each call, but each task needs its "
                f"own: create it inside the function, or pass the {type(result).__name__} itself"
            )
        return result

    def declare(self, mode: TimeMode, where: str) -> DeclaringHandle:
        """Return a handle with the state variables that init() requests. Raises TopologyError."""
        annotation = inspect.signature(type(self._first).handleInputRows).return_annotation
        if "DataFrame" in str(annotation):
            raise TopologyError(
                f"{where}: handleInputRows returns {annotation}, so {self.name} was written for "
                "transformWithStateInPandas: Forebay runs classes for transformWithState, which take and return Rows"
            )
        handle = DeclaringHandle(mode)
        try:
            self._first.init(handle)
            self._first.close()
        except Exception as error:
            raise TopologyError(f"{where}: {self.name}.init() failed: {type(error).__name__}: {error}") from error
        return handle


def _pickle(processor: StatefulProcessor) -> bytes:
    try:
        return bytes(cloudpickle.dumps(processor))
    except Exception as error:
        kind = type(processor).__name__
        raise TopologyError(
            f"the {kind} can't be copied for each task: {type(error).__name__}: {error}; give the class {kind}, or a "
            "function that creates one"
        ) from error


def _time_mode(given: str) -> TimeMode:
    try:
        return TimeMode(given.lower())
    except (AttributeError, ValueError):
        raise TopologyError(f'time_mode={given!r}: specify "None", "ProcessingTime" or "EventTime"') from None


def _delay_ms(given: Duration, mode: TimeMode, where: str) -> int:
    try:
        delay_ms = ms_of(given)
    except ValueError as error:
        raise TopologyError(f"{where}: watermark_delay_ms: {error}") from error
    if delay_ms < 0 or (delay_ms and mode is not TimeMode.EVENT_TIME):
        raise TopologyError(
            f'{where}: watermark_delay_ms is {delay_ms}: specify 0 or more ms, together with time_mode="EventTime"'
        )
    return delay_ms


def _store(variable: Variable, name: str, where: str) -> Any:
    try:
        return variable.store(name)
    except (ValueError, TypeError, SchemaError) as error:
        raise TopologyError(f"{where}: state {variable.name}: {error}") from error
