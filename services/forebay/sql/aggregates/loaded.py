"""All aggregates, declared."""

from __future__ import annotations

from forebay.sql.aggregates import kept, numbers
from forebay.sql.aggregates.registry import AGGREGATES

MODULES = (kept, numbers)

__all__ = ["AGGREGATES"]
