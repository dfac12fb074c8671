"""Runs cases as topologies of the DSL on the test driver."""

from __future__ import annotations

from typing import Any

from forebay.builder import Table, Topology
from forebay.builder.grouped import GroupedStream
from forebay.operators import Emission, Fold, UntilTimeLimit, UntilWindowCloses
from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded
from forebay.time import SessionWindows, SlidingWindows, hopping, tumbling
from tests.relational import model
from tests.relational.graphs import WINDOWS, Case, Results, Step, Verb, results_of
from tests.relational.running import Language

_GRACE = 1_000
_WINDOWS: dict[Verb, Any] = {
    Verb.TUMBLING: tumbling(5, _GRACE),
    Verb.HOPPING: hopping(6, 3, _GRACE),
    Verb.SLIDING: SlidingWindows(5, _GRACE),
    Verb.SESSIONS: SessionWindows(3, _GRACE),
}
_ROWS: Fold[int, int] = Fold(
    lambda: None,  # type: ignore[arg-type, return-value]
    lambda _key, value, total: model.add_row(total, value),
    lambda _key, value, total: model.remove_row(total, value),  # type: ignore[arg-type, return-value]
)


def topology_of(case: Case) -> Topology:
    """Return the topology of a case. Each step writes its changes to a topic that is named after its number."""
    topology = Topology()
    results: list[Table[str, int]] = []
    for at, step in enumerate(case.steps):
        results.append(_of_topic(topology, at, step, results) if step.topic else _of_tables(at, step, results))
        results[-1].to_stream().to(f"out-{at}")
    return topology


def _driver_of(case: Case) -> TestDriver:
    return TestDriver(topology_of(case), tasks=case.tasks)


def _send(driver: TestDriver, case: Case, number: int) -> None:
    sent = case.records[number]
    driver.pipe(sent.key, sent.value, sent.topic, sent.time)


def _output_of(output: Forwarded[Any]) -> tuple[int, str, int | None]:
    return int(output.topic.rpartition("-")[2]), output.key, output.value


DSL = Language(_driver_of, _send, _output_of)


def _of_topic(topology: Topology, at: int, step: Step, made: list[Table[str, int]]) -> Table[str, int]:
    store = f"s{at}"
    if step.verb is Verb.TABLE:
        return topology.table(step.topic, int, store=store)
    if step.verb is Verb.VERSIONED:
        return topology.table(step.topic, int, store=store, history_retention_ms=100)
    stream = topology.stream(step.topic, int)
    if step.verb is Verb.ENRICH:
        stream = stream.left_join(made[step.of[0]], model.join_values, int)
    grouped = stream.group_by_key()
    if step.verb not in WINDOWS:
        return grouped.reduce(lambda one, other: one + other, store=store)
    counts = _counts(grouped, step, store)
    passing = counts.filter(lambda _, count: model.passes(step.number, count))
    return _by_text(counts.left_join(passing, model.join_values, int), f"{store}-rows")


def _counts(grouped: GroupedStream[str, int], step: Step, store: str) -> Table[Any, int]:
    windows = _WINDOWS[step.verb]
    match results_of(step):
        case Results.SUPPRESSED:
            counts = grouped.windowed_by(windows).count(store=store)
            return counts.suppress(UntilWindowCloses(windows), store=f"{store}-buffer").materialized(f"{store}-kept")
        case Results.FINAL:
            return grouped.windowed_by(windows, Emission.FINAL).count(store=store)
        case Results.BOTH:
            return grouped.windowed_by(windows, Emission.BOTH).count(store=store)
    return grouped.windowed_by(windows).count(store=store)


def _by_text(windowed: Table[Any, int], store: str) -> Table[str, int]:
    return windowed.group_by(lambda key, _: model.window_row(key.key, *key.window), str).aggregate(
        _ROWS, int, store=store
    )


def _of_tables(at: int, step: Step, made: list[Table[str, int]]) -> Table[str, int]:
    one, number = made[step.of[0]], step.number
    match step.verb:
        case Verb.FILTER:
            return one.filter(lambda _, value: model.passes(number, value))
        case Verb.MAP:
            return one.map_values(lambda _, value: model.map_value(number, value), int)
        case Verb.KEEP:
            return one.materialized(f"s{at}")
        case Verb.SUPPRESS:
            held = one.suppress(UntilTimeLimit(number), store=f"s{at}-buffer", max_records=number % 4 or None)
            return held.materialized(f"s{at}")
        case Verb.GROUP:
            grouped = one.group_by(lambda _, value: model.group(number, value), str)
            return grouped.aggregate(_ROWS, int, store=f"s{at}")
    other = made[step.of[1]]
    match step.verb:
        case Verb.JOIN:
            return one.join(other, model.join_values, int)
        case Verb.LEFT_JOIN:
            return one.left_join(other, model.join_values, int)
        case Verb.OUTER_JOIN:
            return one.outer_join(other, model.join_values, int)
        case Verb.FOREIGN:
            return one.join_by_foreign_key(
                other, lambda _, value: model.foreign_key(value), model.join_values, int, store=f"s{at}"
            )
    return one.left_join_by_foreign_key(
        other, lambda _, value: model.foreign_key(value), model.join_values, int, store=f"s{at}"
    )
