"""Reads what a group's next commit takes."""

from __future__ import annotations

from collections.abc import Callable

from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.ports import Reader
from forebay.runtime.task.state_task import StateTask

_AFTER_LOOK_SECONDS = 0.05


class Gathering:
    """Reads until a commit is due, and for streams that are merged what is there by then."""

    def __init__(self, tasks: list[StateTask], reader: Reader, pacing: Pacing, monotonic: Callable[[], float]) -> None:
        self._tasks = tasks
        self._reader = reader
        self._pacing = pacing
        self._monotonic = monotonic
        self._looks = any(len(task.settings.sends) or task.settings.part for task in tasks)

    def open(self) -> None:
        """Begin to read the tasks' inputs."""
        inputs = [task.input for task in self._tasks]
        self._looks = self._looks or any(item.merges for item in inputs)
        self._reader.assign(inputs)
        self._pacing.opened()

    def gather(self, seconds: float, *, goes_on: bool) -> int:
        """Read until the next commit is due, or nothing came for `seconds`; return how many records it may have.

        Args:
            goes_on: whether the last commit could not take all: the next one is due.
        """
        pacing, reader = self._pacing, self._reader
        pacing.begin(sum([task.input.waiting for task in self._tasks]), goes_on=goes_on)
        until, looked = self._monotonic() + seconds, False
        while True:
            wait = _AFTER_LOOK_SECONDS if looked else min(pacing.wait(), max(0.0, until - self._monotonic()))
            count = reader.read(wait, pacing.room)
            pacing.took(count, reader.bytes)
            reader.bytes = 0
            if looked:
                if pacing.is_full or pacing.is_spent or self._has_what_was_there():
                    return pacing.most
            elif pacing.is_due(count):
                pacing.gathered()
                if not self._looks:
                    return pacing.most
                # What is there now belongs to this commit, so that streams are merged in order.
                reader.look()
                looked = True
                if pacing.is_full or self._has_what_was_there():
                    return pacing.most
            elif pacing.is_empty and self._monotonic() >= until:
                return pacing.most

    def _has_what_was_there(self) -> bool:
        has_all = self._reader.has_all
        return all(has_all(task.input) for task in self._tasks)
