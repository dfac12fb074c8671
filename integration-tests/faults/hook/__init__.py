"""Import hook that wraps the fault points of a job once their modules are loaded. The product has no code for it."""

from __future__ import annotations

import functools
import importlib.abc
import importlib.machinery
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from faults.hook.acting import act
from faults.points import VARIABLE, Armory, Point

_LINGER_SECONDS = 0.05
"""Pause before and after each commit. Transactions are therefore open when faults occur at any time, and the processing
of a backlog does not occupy the whole machine."""

_armory = Armory(Path(os.environ.get(VARIABLE, ".")))


def reach(point: Point, place: str = "") -> None:
    """Execute the fault that is armed for this point, if there is one."""
    fault = _armory.take(point, place)
    if fault is not None:
        act(fault)


def _build(module: ModuleType) -> None:
    class Producer(module.Producer):  # type: ignore[misc, name-defined]
        def __init__(self, settings: dict[str, Any]) -> None:
            self.place = str(settings.get("transactional.id", ""))
            super().__init__(settings)

        def commit_transaction(self, *arguments: Any) -> None:
            _armory.linger(_LINGER_SECONDS)
            reach(Point.BEFORE_COMMIT, self.place)
            super().commit_transaction(*arguments)
            reach(Point.AFTER_COMMIT, self.place)
            _armory.linger(_LINGER_SECONDS)

    module.Producer = Producer  # type: ignore[attr-defined]


def _storage(module: ModuleType) -> None:
    _after(module.SnapshotFiles, "write", Point.AFTER_STATE)


def _keeping(module: ModuleType) -> None:
    _before(module.SnapshotKeeper, "write", Point.BEFORE_SNAPSHOT)


def _runner(module: ModuleType) -> None:
    _before(module.GroupRunner, "renew", Point.LEASE_CHANGE)


def _query(module: ModuleType) -> None:
    _after(module.JobRunner, "_on_batch", Point.BEFORE_COMMIT_LOG)


def _planner(module: ModuleType) -> None:
    plan = module.LeasePlanner.plan

    @functools.wraps(plan)
    def plan_and_reach(self: Any, start: dict[str, Any]) -> Any:
        end = plan(self, start)
        if end != start:
            reach(Point.PLANNING)
        return end

    module.LeasePlanner.plan = plan_and_reach


class _ShiftedTime:
    """A replacement for the module `time`, with a wall clock that the harness can shift."""

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def time_ns(self) -> int:
        return time.time_ns() + _armory.shift() * 1_000_000


def _clock(module: ModuleType) -> None:
    module.time = _ShiftedTime()  # type: ignore[attr-defined]


def _before(owner: Any, name: str, point: Point) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*arguments: Any) -> Any:
        reach(point)
        return original(*arguments)

    setattr(owner, name, wrapper)


def _after(owner: Any, name: str, point: Point) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(*arguments: Any) -> Any:
        result = original(*arguments)
        reach(point)
        return result

    setattr(owner, name, wrapper)


_PLACES: dict[str, Callable[[ModuleType], None]] = {
    "forebay.runtime.worker.build": _build,
    "forebay.runtime.task.snapshot_writing": _keeping,
    "forebay.runtime.task.clock": _clock,
    "forebay.runtime.task.runner": _runner,
    "forebay.runtime.snapshots.storage": _storage,
    "forebay.runtime.spark.planner": _planner,
    "forebay.runtime.driver.query": _query,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Import finder that finds the named modules like the ordinary finders, and wraps them once they are loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        wrap = _PLACES.get(name)
        if wrap is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_wrap(module: ModuleType) -> None:
            load(module)
            wrap(module)

        spec.loader.exec_module = load_and_wrap  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Wrap the named modules when they are loaded."""
    sys.meta_path.insert(0, _Finder())
