"""Settings of a job of one StatefulProcessor."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatefulSettings:
    """Settings of a StatefulProcessor, which has none. Pass configuration to its constructor instead."""
