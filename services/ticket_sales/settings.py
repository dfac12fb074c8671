"""Settings of the service's logic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TicketSalesSettings:
    """No settings."""
