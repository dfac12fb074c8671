"""Settings of a job of one StatefulProcessor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatefulSettings:
    """A StatefulProcessor has no settings: give its constructor what it needs."""
