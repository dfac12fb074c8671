"""What a statement says: expressions, queries, statements, as they are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from forebay.sql.errors import NOWHERE, Place
from forebay.sql.types import SqlType
from forebay.sql.written_options import Options


@dataclass(frozen=True, slots=True)
class Expression:
    """Anything that has a value."""

    place: Place = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A value that is written down; None is null."""

    value: str | int | float | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """A column, perhaps of a named source."""

    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Star(Expression):
    """All columns: of everything, of a source, or the fields of a struct."""

    source: str = ""
    struct: Expression | None = None


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A function's or an operator's value; operators go by their sign, unary ones by `-x`, `+x`."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """A function written in place: (x, y) => x + y."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A value as another type."""

    value: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """The first of several values whose condition is true."""

    whens: tuple[tuple[Expression, Expression], ...]
    default: Expression | None


@dataclass(frozen=True, slots=True)
class StructOf(Expression):
    """A struct of named values."""

    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class MapOf(Expression):
    """A map of keys and values."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class ArrayOf(Expression):
    """An array of values."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Field(Expression):
    """A field of a struct."""

    struct: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Item(Expression):
    """An item of an array by its number from 1 (from the end: -1), or a map's value by its key."""

    container: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Selected:
    """One item of a SELECT list.

    Args:
        text: of the expression, as written.
    """

    expression: Expression
    alias: str | None
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class From:
    """A source of a query and what it is called in it."""

    name: str
    alias: str
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class JoinClause:
    """A source joined to those before it.

    Args:
        kind: INNER, LEFT, RIGHT, FULL.
        within: ms before and after; None: not given.
        grace_ms: None: not given.
    """

    kind: str
    source: From
    within: tuple[int, int] | None
    grace_ms: int | None
    on: Expression


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A WINDOW clause, times in ms.

    Args:
        kind: TUMBLING, HOPPING, SESSION.
        size_ms: size, or a session's gap.
    """

    kind: str
    size_ms: int
    advance_ms: int
    grace_ms: int | None
    retention_ms: int | None


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT.

    Args:
        emit: CHANGES, FINAL, or "" (of a query alone: pull).
        as_of: ms since 1970; rows as they were valid then.
        standard: whether nulls are those of standard SQL: a comparison with one is unknown, a sum of none is one.
    """

    select: tuple[Selected, ...]
    source: From
    joins: tuple[JoinClause, ...] = ()
    window: WindowClause | None = None
    where: Expression | None = None
    group_by: tuple[Expression, ...] = ()
    partition_by: tuple[Expression, ...] = ()
    having: Expression | None = None
    emit: str = ""
    limit: int | None = None
    place: Place = NOWHERE
    as_of: int | None = None
    standard: bool = False


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A column of a CREATE statement; its role is "", KEY, PRIMARY KEY, HEADERS or HEADER('name')."""

    name: str
    type: SqlType
    role: str = ""
    header: str = ""
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """Any statement.

    Args:
        text: as written.
    """

    place: Place = field(default=NOWHERE, kw_only=True, compare=False)
    text: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """CREATE STREAM or TABLE over a topic."""

    name: str
    is_table: bool
    columns: tuple[ColumnDef, ...]
    options: Options
    or_replace: bool = False
    if_not_exists: bool = False
    is_read_only: bool = False


@dataclass(frozen=True, slots=True)
class CreateAs(Statement):
    """CREATE STREAM, TABLE or MATERIALIZED VIEW ... AS SELECT."""

    name: str
    is_table: bool
    options: Options
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class InsertInto(Statement):
    """INSERT INTO ... SELECT.

    Args:
        query_id: the query's name; "" for one that is made.
    """

    name: str
    query: Query
    query_id: str = ""


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    """INSERT INTO ... VALUES: a record that is sent once.

    Args:
        columns: those that are given; (): all, in their order.
    """

    name: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Select(Statement):
    """A query alone: pull, or push with EMIT CHANGES."""

    query: Query


@dataclass(frozen=True, slots=True)
class CreateType(Statement):
    """CREATE TYPE name AS type: named types are resolved while parsing."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class SetProperty(Statement):
    """SET or UNSET of a setting."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Command(Statement):
    """SHOW, DESCRIBE, EXPLAIN, PRINT, TERMINATE, PAUSE, RESUME, DROP: a verb and what it is about."""

    verb: str
    subject: str = ""
    statement: Statement | None = None
    if_exists: bool = False
    deletes_topic: bool = False
    is_extended: bool = False
