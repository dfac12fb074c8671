"""The intermediate results of a pipeline: the builder's objects, with KSML's types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.aggregates import AnyWindows
from forebay.builder.grouped import CogroupedStream, GroupedStream
from forebay.builder.grouped_table import GroupedTable
from forebay.builder.stream import Stream
from forebay.builder.table import GlobalTable, Table
from forebay.ksml.types import Type
from forebay.operators.folds import Fold


@dataclass(frozen=True)
class Piece:
    """A stream or table with its key and value types."""

    key: Type
    value: Type


@dataclass(frozen=True)
class StreamPiece(Piece):
    """A stream."""

    stream: Stream[Any, Any]


@dataclass(frozen=True)
class TablePiece(Piece):
    """A table. `windows` are the windows of its keys."""

    table: Table[Any, Any]
    windows: AnyWindows | None = None


@dataclass(frozen=True)
class GlobalPiece(Piece):
    """A global table, of which every task has all rows."""

    table: GlobalTable[Any, Any]


@dataclass(frozen=True)
class GroupedPiece(Piece):
    """A grouped stream, optionally windowed. `folds` are the aggregations of cogroup."""

    grouped: GroupedStream[Any, Any]
    windows: AnyWindows | None = None
    cogrouped: CogroupedStream[Any, Any] | None = None
    fold: Fold[Any, Any] | None = None


@dataclass(frozen=True)
class GroupedTablePiece(Piece):
    """A grouped table, whose values are pairs of group and value."""

    grouped: GroupedTable[Any, Any]


NAMES: dict[type[Piece], str] = {
    StreamPiece: "a stream",
    TablePiece: "a table",
    GlobalPiece: "a global table",
    GroupedPiece: "a grouped stream",
    GroupedTablePiece: "a grouped table",
}
