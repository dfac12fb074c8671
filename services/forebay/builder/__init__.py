"""The DSL, which describes a topology as streams and tables. The engine runs and draws it."""

from forebay.builder.grouped import CogroupedStream, GroupedStream, WindowedStream
from forebay.builder.grouped_table import GroupedTable
from forebay.builder.keys import Windowed
from forebay.builder.nodes import TopologyError
from forebay.builder.processors import ValueTransformer
from forebay.builder.split import Split
from forebay.builder.stream import Stream
from forebay.builder.table import GlobalTable, Table
from forebay.builder.topology import Topology
from forebay.builder.topology_job import job
from forebay.stores.materialized import Materialized

__all__ = [
    "CogroupedStream",
    "GlobalTable",
    "GroupedStream",
    "GroupedTable",
    "Materialized",
    "Split",
    "Stream",
    "Table",
    "Topology",
    "TopologyError",
    "ValueTransformer",
    "Windowed",
    "WindowedStream",
    "job",
]
