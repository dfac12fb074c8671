"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

MINUTE_MS = 60_000

_LEAST = {"window_ms": 1, "grace_ms": 0, "idle_timeout_ms": 0, "samples": 1, "list_limit": 1}


class EmitResults(Enum):
    """The results to send: after every event, when a window is final, or both."""

    EVERY = "every"
    FINAL = "final"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class WindowedMetricsSettings:
    """The settings of the logic that an operator can change.

    Args:
        window_ms: length of a window.
        grace_ms: how long after its end, in stream time, a window accepts events.
        retention_ms: how long a window stays in the store, from its start to the start of the newest window.
        emit_results: the results to send.
        idle_timeout_ms: time after which all windows close if the topic is idle, and later events of them are rejected;
            0 = windows close when the clock reaches their end.
        samples: number of values that are kept per window.
        list_limit: maximum entries of a list in the state (datacenters, environments, services).

    Raises:
        ValueError: a value is invalid.
    """

    window_ms: int = 5 * MINUTE_MS
    grace_ms: int = MINUTE_MS
    retention_ms: int = 60 * MINUTE_MS
    emit_results: EmitResults = EmitResults.EVERY
    idle_timeout_ms: int = 0
    samples: int = 10
    list_limit: int = 100

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}: use {least} or more")
        if self.retention_ms < self.window_ms + self.grace_ms:
            raise ValueError(
                f"retention_ms is {self.retention_ms}: use at least window_ms + grace_ms, "
                f"{self.window_ms + self.grace_ms}, or events are refused before their window closes"
            )
