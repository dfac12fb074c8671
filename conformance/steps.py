"""Execution of a case's steps on a store. Each operation is a method, and its fields are the arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from conformance.cases import REMARKS, BadCase, Difference
from conformance.compare import matches, matches_unordered
from conformance.script import Outcome, Script, Stores
from forebay.testing.cell import Json

UNCHECKED = "unchecked"

_META = REMARKS | {"op", "expect", "expect_error", "ordered"}
_RENAMED: dict[str, str] = {"from": "from_", "to": "to_"}
_WRITES = frozenset({"delete", "put", "put_all", "put_if_absent", "remove", "restore_batch"})
_NULL_KEY = {None: "", "null_key": "NullKeyError"}


class StoreSteps(Script):
    """The operations of one kind of store. Subclasses have a method with the name of each operation.

    Args:
        counters: The store's counters, which are only in memory.
    """

    counters: tuple[str, ...] = ()
    _store: Any

    def __init__(self, steps: list[Json], stores: Stores) -> None:
        super().__init__(stores)
        if not isinstance(steps, list):
            raise BadCase("its steps are not a list")
        self._steps = steps
        self._operations = [_operation(_where(index, step), step, self) for index, step in enumerate(steps)]

    def steps(self) -> int:
        return len(self._steps)

    def batches(self) -> list[range]:
        """Return ranges of consecutive writes and of the reads that follow them."""
        ends = [
            index
            for index in range(1, len(self._steps))
            if (self._steps[index]["op"] in _WRITES) != (self._steps[index - 1]["op"] in _WRITES)
        ]
        bounds = [0, *ends, len(self._steps)]
        return [range(start, end) for start, end in pairwise(bounds) if start < end]

    def run(self, index: int) -> Json:
        return self._operations[index]()

    def memory(self) -> dict[str, Json]:
        return {**super().memory(), **{name: getattr(self._store, name) for name in self.counters}}

    def remember(self, memory: dict[str, Json]) -> None:
        super().remember(memory)
        for name in self.counters:
            setattr(self._store, name, memory[name])

    def differences(self, outcomes: Sequence[Outcome]) -> Iterator[Difference]:
        if not any(_is_checked(step) for step in self._steps):
            raise BadCase("its steps expect nothing")
        for index, (step, outcome) in enumerate(zip(self._steps, outcomes, strict=True)):
            where, expected_error = _where(index, step), step.get("expect_error")
            if outcome.error:
                if outcome.error != _NULL_KEY[expected_error]:
                    yield Difference(where, step.get("expect"), f"error: {outcome.text}")
            elif expected_error is not None:
                yield Difference(where, f"error {expected_error}", outcome.value)
            elif _is_checked(step) and not _agrees(step, outcome.value):
                yield Difference(where, step["expect"], outcome.value)


def _where(index: int, step: Json) -> str:
    return f"steps[{index}] {step.get('op') if isinstance(step, dict) else step}"


def _is_checked(step: Json) -> bool:
    return "expect_error" in step or ("expect" in step and step["expect"] != UNCHECKED)


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
    if step.get("expect_error") not in _NULL_KEY:
        raise BadCase(f"{where}: unknown expect_error {step['expect_error']!r}")
    # Only operations that a subclass adds may be called. Otherwise a case could name any method of the runner.
    method = None if name.startswith("_") or name in dir(StoreSteps) else getattr(store, name, None)
    if not inspect.ismethod(method):
        raise BadCase(f"{where}: unknown operation for this kind of store")
    arguments: dict[str, Json] = {_RENAMED.get(str(n), str(n)): v for n, v in step.items() if n not in _META}
    try:
        inspect.signature(method).bind(**arguments)
    except TypeError as error:
        raise BadCase(f"{where}: {error}") from error
    return lambda: method(**arguments)
