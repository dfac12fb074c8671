"""What a pipeline works on between two of its steps: the builder's objects, with the types of KSML."""

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
    """Something with keys and values."""

    key: Type
    value: Type


@dataclass(frozen=True)
class StreamPiece(Piece):
    """A stream."""

    stream: Stream[Any, Any]


@dataclass(frozen=True)
class TablePiece(Piece):
    """A table; `windows` are those its keys have."""

    table: Table[Any, Any]
    windows: AnyWindows | None = None


@dataclass(frozen=True)
class GlobalPiece(Piece):
    """A table that every task has whole."""

    table: GlobalTable[Any, Any]


@dataclass(frozen=True)
class GroupedPiece(Piece):
    """A stream by groups, in windows if there are any; `folds` are those of cogroup."""

    grouped: GroupedStream[Any, Any]
    windows: AnyWindows | None = None
    cogrouped: CogroupedStream[Any, Any] | None = None
    fold: Fold[Any, Any] | None = None


@dataclass(frozen=True)
class GroupedTablePiece(Piece):
    """A table by groups: its values are pairs of group and value."""

    grouped: GroupedTable[Any, Any]


NAMES: dict[type[Piece], str] = {
    StreamPiece: "a stream",
    TablePiece: "a table",
    GlobalPiece: "a global table",
    GroupedPiece: "a grouped stream",
    GroupedTablePiece: "a grouped table",
}
