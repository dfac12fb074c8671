"""Runs cases and compares them with the model. The first case that differs is minimized before it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from forebay.testing import TestDriver
from forebay.testing.shown import Forwarded
from tests.relational import model
from tests.relational.graphs import Case, Step, Verb, is_final_only


class Language(NamedTuple):
    """A language in which cases run.

    Args:
        driver_of: Returns the driver of a case.
        send: Pipes the case's record at a position.
        output_of: Returns step, key and value of an output, or None if it belongs to no step.
    """

    driver_of: Callable[[Case], TestDriver]
    send: Callable[[TestDriver, Case, int], None]
    output_of: Callable[[Forwarded[Any]], tuple[int, str, int | None] | None]


def difference(case: Case, language: Language) -> str:
    """Return the first difference between the tables and the model after a record, or "" if they never differ."""
    driver, rows = language.driver_of(case), [dict[str, int]() for _ in case.steps]
    shown, final_only = 0, is_final_only(case.steps)
    for number in range(len(case.records) + final_only):
        if number < len(case.records):
            language.send(driver, case, number)
        else:
            driver.advance_stream_time(10_000)
        if number in case.restarts:
            driver.restart()
        for output in driver.outputs[shown:]:
            result = language.output_of(output)
            if result is not None:
                _take(rows[result[0]], *result[1:])
        shown = len(driver.outputs)
        if driver.errors:
            return f"record {number} failed: {driver.errors[0].headers.get('error.message')}"
        if final_only and number < len(case.records):
            continue
        for at, right in enumerate(model.tables(case.steps, case.records[: number + 1])):
            if rows[at] != right:
                return f"step {at} after record {number}: {rows[at]}, right is {right}"
    return ""


def difference_after_downtime(case: Case, language: Language) -> str:
    """Return the difference at the end if the second half of the records arrives while the job is down, or "".

    Records with equal times are not read in the order in which they were sent. Stream-table joins depend on this, so
    cases with such a join get distinct times.
    """
    if any(step.verb is Verb.ENRICH for step in case.steps):
        case = replace(case, records=tuple(replace(record, time=at * 10) for at, record in enumerate(case.records)))
    driver, rows, half = language.driver_of(case), [dict[str, int]() for _ in case.steps], len(case.records) // 2
    for number in range(half):
        language.send(driver, case, number)
    driver.restart((sent.topic, sent.key, sent.value, sent.time) for sent in case.records[half:])
    driver.advance_stream_time(10_000)
    for output in driver.outputs:
        shown = language.output_of(output)
        if shown is not None:
            _take(rows[shown[0]], *shown[1:])
    if driver.errors:
        return f"a record failed: {driver.errors[0].headers.get('error.message')}"
    return next(
        (
            f"step {at} at the end: {rows[at]}, right is {right}"
            for at, right in enumerate(model.tables(case.steps, case.records))
            if rows[at] != right
        ),
        "",
    )


def _take(rows: dict[str, int], key: str, value: int | None) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


def failures(cases: Iterator[Case], differs: Callable[[Case], str]) -> list[str]:
    """Return a text for each case that differs from the model. The first of these cases is minimized."""
    results: list[str] = []
    for case in cases:
        if differs(case):
            small = smaller(case, differs) if not results else case
            results.append(f"{differs(small)}\n{small}")
    return results


def smaller(case: Case, differs: Callable[[Case], str]) -> Case:
    """Return the case without the records, steps, restarts and tasks that the difference does not need."""
    while True:
        for candidate in _candidates(case):
            if differs(candidate):
                case = candidate
                break
        else:
            return case


def _candidates(case: Case) -> Iterator[Case]:
    for at in range(len(case.records)):
        yield replace(case, records=case.records[:at] + case.records[at + 1 :])
    for at in reversed(range(len(case.steps))):
        if len(case.steps) > 1 and not any(at in step.of for step in case.steps):
            yield _without(case, at)
    if case.restarts:
        yield replace(case, restarts=frozenset())
    if case.tasks > 1:
        yield replace(case, tasks=1)


def _without(case: Case, at: int) -> Case:
    gone = case.steps[at]
    steps = tuple(_renumber(step, at) for step in case.steps[:at] + case.steps[at + 1 :])
    return replace(case, steps=steps, records=tuple(record for record in case.records if record.topic != gone.topic))


def _renumber(step: Step, at: int) -> Step:
    return replace(step, of=tuple(item - (item > at) for item in step.of))
