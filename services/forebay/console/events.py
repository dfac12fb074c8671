"""The events of a job: restarts with their reasons, and changes of its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

_COUNT = 50


@dataclass(frozen=True, slots=True)
class Event:
    """A restart or a new state.

    Args:
        at_ms: ms since the epoch.
        what: "query" or "worker" if it was restarted; otherwise the new state.
    """

    at_ms: int
    what: str
    reason: str


class Events:
    """The last events of a job."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._state = ""

    def note_restarts(self, restarts: Iterable[Mapping[str, Any]]) -> None:
        """Add the restarts that a job lists, without those that were added before."""
        listed = {Event(int(item["at_ms"]), str(item["what"]), str(item["reason"])) for item in restarts}
        self._keep({*self._events, *listed})

    def note_state(self, state: str, at_ms: int, reason: str) -> None:
        """Add an event if the job's state has changed. The first state is not an event."""
        before, self._state = self._state, state
        if before and before != state:
            self._keep({*self._events, Event(at_ms, state, reason)})

    def to_json(self) -> list[dict[str, Any]]:
        """Return the events, newest first."""
        return [asdict(event) for event in reversed(self._events)]

    def _keep(self, events: Iterable[Event]) -> None:
        self._events = sorted(events, key=lambda event: event.at_ms)[-_COUNT:]
