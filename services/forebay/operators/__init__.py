"""Operators on stores, such as aggregates, suppress and joins. A processor can use them directly."""

from forebay.operators.aggregate import TableAggregate
from forebay.operators.closing import Closing
from forebay.operators.deduplicate import Deduplicate
from forebay.operators.folds import Fold, counting, reducing
from forebay.operators.global_table import GlobalTable, GlobalTableJoin
from forebay.operators.results import Emission, Join, Outcome, Result, WindowResult
from forebay.operators.session import Closed, SessionAggregate
from forebay.operators.sliding import SlidingAggregate
from forebay.operators.stateless import Filter, FlatMap, Map, Rekey
from forebay.operators.stream import StreamAggregate
from forebay.operators.stream_stream import StreamStreamJoin
from forebay.operators.stream_table import StreamTableJoin
from forebay.operators.suppress import BufferFull, Suppress, UntilTimeLimit, UntilWindowCloses, WhenFull
from forebay.operators.table import Change, LatestByOffset, LatestByTimestamp, Table
from forebay.operators.table_table import JoinedTable, TableTableJoin
from forebay.operators.waiting import Waiting
from forebay.operators.window import WindowAggregate

__all__ = [
    "BufferFull",
    "Change",
    "Closed",
    "Closing",
    "Deduplicate",
    "Emission",
    "Filter",
    "FlatMap",
    "Fold",
    "GlobalTable",
    "GlobalTableJoin",
    "Join",
    "JoinedTable",
    "LatestByOffset",
    "LatestByTimestamp",
    "Map",
    "Outcome",
    "Rekey",
    "Result",
    "SessionAggregate",
    "SlidingAggregate",
    "StreamAggregate",
    "StreamStreamJoin",
    "StreamTableJoin",
    "Suppress",
    "Table",
    "TableAggregate",
    "TableTableJoin",
    "UntilTimeLimit",
    "UntilWindowCloses",
    "Waiting",
    "WhenFull",
    "WindowAggregate",
    "WindowResult",
    "counting",
    "reducing",
]
