"""Running a case's steps on a store: each operation is a method of the store's kind, its fields are the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from forebay.conformance.bench import Bench
from forebay.conformance.cases import REMARKS, BadCase, Difference
from forebay.conformance.cell import Json, Keys
from forebay.conformance.compare import matches, matches_unordered
from forebay.stores.keys import NullKeyError

UNCHECKED = "unchecked"

_META = REMARKS | {"op", "expect", "expect_error", "ordered"}
_RENAMED: dict[str, str] = {"from": "from_", "to": "to_"}


class StoreSteps:
    """The operations of one kind of store: subclasses have one method per operation, named after it."""

    def __init__(self, bench: Bench) -> None:
        self.keys = Keys()
        self.bench = bench

    def restarted(self) -> None:
        """Notice that the step before was committed and everything in memory dropped."""


def run_steps(steps: list[Json], store: StoreSteps, bench: Bench) -> Iterator[Difference]:
    """Run steps one batch each; give the differences. Raises BadCase for what is unknown, or if nothing is checked."""
    checked = 0
    for index, step in enumerate(steps):
        where = f"steps[{index}] {step.get('op') if isinstance(step, dict) else step}"
        operation = _operation(where, step, store)
        expected_error = step.get("expect_error")
        try:
            got = operation()
        except TypeError as error:
            if not isinstance(error, NullKeyError) and "null" not in str(error):
                raise
            bench.roll_back()
            checked += 1
            if expected_error != "null_key":
                yield Difference(where, step.get("expect"), f"error: {error}")
            continue
        bench.commit()
        if expected_error is not None:
            checked += 1
            yield Difference(where, f"error {expected_error}", got)
        elif "expect" in step and step["expect"] != UNCHECKED:
            checked += 1
            if not _agrees(step, got):
                yield Difference(where, step["expect"], got)
    if not checked:
        raise BadCase("its steps expect nothing")


def _agrees(step: Json, got: Json) -> bool:
    expected = step["expect"]
    unordered = step.get("ordered", True) is False or step.get("order") == "any"
    if unordered and isinstance(expected, list) and isinstance(got, list):
        return matches_unordered(expected, got)
    return matches(expected, got)


def _operation(where: str, step: Json, store: StoreSteps) -> Callable[[], Json]:
    if not isinstance(step, dict) or not isinstance(step.get("op"), str):
        raise BadCase(f"{where}: a step is an object with an op")
    name = str(step["op"])
    if step.get("expect_error") not in (None, "null_key"):
        raise BadCase(f"{where}: unknown expect_error {step['expect_error']!r}")
    method = None if name.startswith("_") or name in dir(StoreSteps) else getattr(store, name, None)
    if not inspect.ismethod(method):
        raise BadCase(f"{where}: unknown operation for this kind of store")
    arguments: dict[str, Json] = {_RENAMED.get(str(n), str(n)): v for n, v in step.items() if n not in _META}
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        raise BadCase(f"{where}: {error}") from error
    return lambda: method(**arguments)
