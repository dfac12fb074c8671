"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SensorViewsSettings:
    """No settings: the views' files define the computation."""
