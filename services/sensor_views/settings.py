"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SensorViewsSettings:
    """What is computed is in the views' files; there is nothing else to choose."""
