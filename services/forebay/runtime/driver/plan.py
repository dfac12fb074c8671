"""When a job ends, and where its checkpoint is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Trigger(Enum):
    """When the job ends: never by itself, or once it has processed all records before the ends as of its start."""

    CONTINUOUS = "continuous"
    AVAILABLE_NOW = "available-now"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is run.

    Args:
        checkpoint: URL or path of Spark's checkpoint.
    """

    checkpoint: str
    trigger: Trigger = Trigger.CONTINUOUS
