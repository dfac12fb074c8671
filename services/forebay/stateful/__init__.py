"""Topologies with a PySpark `StatefulProcessor` (the Row API of transformWithState)."""

from forebay.stateful.service import stateful_job
from forebay.stateful.transform import transform_with_state

__all__ = ["stateful_job", "transform_with_state"]
