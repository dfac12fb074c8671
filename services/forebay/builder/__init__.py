"""A fluent description of a topology that the engine runs and that prints itself."""

from forebay.builder.stream import Stream, Windowed
from forebay.builder.table import GroupedTable, Table
from forebay.builder.topology import Topology, job

__all__ = ["GroupedTable", "Stream", "Table", "Topology", "Windowed", "job"]
