"""The loops that run in one worker, and the leases that are held here."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from enum import Enum

from forebay.runtime.task.runner import GroupRunner

Ident = tuple[str, str, int]
"""Application, checkpoint, group."""


class Want(Enum):
    """Which worker a lease is to be held in."""

    LOOP = "loop"
    """The one in which the group's loop runs."""
    ROOM = "room"
    """One in which no loop runs."""
    ANY = "any"


class Loops:
    """A worker's loops. Several threads use it: Spark's task, and one for each lease that other workers were given."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runners: dict[Ident, GroupRunner] = {}
        self._claims: Counter[Ident] = Counter()
        self._turns: dict[Ident, threading.Lock] = {}

    def claim(self, ident: Ident, want: Want) -> AbstractContextManager[threading.Lock] | None:
        """Return what a lease has to be held in; None where this is not the worker that is wanted.

        A worker that was claimed is no other group's from then on. Leases of one group take turns, by the lock that
        the claim gives: where Spark tries a task again, what is left of the attempt before ends first.
        """
        with self._lock:
            if not self._is(ident, want):
                return None
            self._claims[ident] += 1
            return self._claimed(ident, self._turns.setdefault(ident, threading.Lock()))

    def _is(self, ident: Ident, want: Want) -> bool:
        if want is Want.ANY:
            return True
        if want is Want.ROOM:
            return not self._claims and not any(runner.is_alive for runner in self._runners.values())
        runner = self._runners.get(ident)
        return ident in self._claims or (runner is not None and runner.is_alive)

    @contextmanager
    def _claimed(self, ident: Ident, turn: threading.Lock) -> Iterator[threading.Lock]:
        try:
            yield turn
        finally:
            with self._lock:
                self._claims[ident] -= 1
                if not self._claims[ident]:
                    del self._claims[ident]

    def get(self, ident: Ident) -> GroupRunner | None:
        """Return the group's loop, running or not."""
        return self._runners.get(ident)

    def put(self, ident: Ident, runner: GroupRunner) -> None:
        """Keep a group's loop."""
        self._runners[ident] = runner

    def drop(self, ident: Ident) -> None:
        """Stop a group's loop, if there is one, and forget it."""
        runner = self._runners.pop(ident, None)
        if runner is not None:
            runner.stop()

    def all(self) -> list[GroupRunner]:
        """Return all loops."""
        return list(self._runners.values())
