"""The DSL: a topology described as streams and tables, which the engine runs and which prints itself."""

from forebay.builder.graph import TopologyError
from forebay.builder.grouped import CogroupedStream, GroupedStream, WindowedStream
from forebay.builder.keys import Windowed
from forebay.builder.processors import ValueTransformer
from forebay.builder.stream import Split, Stream
from forebay.builder.table import GlobalTable, GroupedTable, Table
from forebay.builder.topology import Topology, job
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
