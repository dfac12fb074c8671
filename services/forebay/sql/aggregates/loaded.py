"""All aggregates, declared."""

from __future__ import annotations

from forebay.sql.aggregates import collecting, numbers
from forebay.sql.aggregates.registry import AGGREGATES

MODULES = (collecting, numbers)

__all__ = ["AGGREGATES"]
