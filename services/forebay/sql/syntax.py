"""Syntax tree of expressions, queries and statements."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from forebay.sql.errors import NOWHERE, Place
from forebay.sql.types import SqlType
from forebay.sql.written_options import Options


@dataclass(frozen=True, slots=True)
class Expression:
    """Base class of expressions."""

    place: Place = field(default=NOWHERE, compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Literal(Expression):
    """A literal. None is null."""

    value: str | int | float | Decimal | bool | None


@dataclass(frozen=True, slots=True)
class Column(Expression):
    """A column, optionally qualified by a source."""

    name: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Star(Expression):
    """All columns of the query, all columns of a source, or all fields of a struct."""

    source: str = ""
    struct: Expression | None = None


@dataclass(frozen=True, slots=True)
class Call(Expression):
    """A call of a function or an operator. An operator's name is its sign, or `-x` if it is unary."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Lambda(Expression):
    """A lambda expression, such as (x, y) => x + y."""

    parameters: tuple[str, ...]
    body: Expression


@dataclass(frozen=True, slots=True)
class Cast(Expression):
    """A conversion of a value to another type."""

    value: Expression
    type: SqlType


@dataclass(frozen=True, slots=True)
class Case(Expression):
    """A CASE expression, whose value is the first one whose condition is true."""

    whens: tuple[tuple[Expression, Expression], ...]
    default: Expression | None


@dataclass(frozen=True, slots=True)
class StructOf(Expression):
    """A STRUCT with named values."""

    fields: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class MapOf(Expression):
    """A MAP with keys and values."""

    entries: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class ArrayOf(Expression):
    """An ARRAY with values."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Field(Expression):
    """A field of a struct."""

    struct: Expression
    name: str


@dataclass(frozen=True, slots=True)
class Item(Expression):
    """An item of an array by its index, which starts at 1 or, from the end, at -1. Or a map's value by its key."""

    container: Expression
    index: Expression


@dataclass(frozen=True, slots=True)
class Selected:
    """An item of a SELECT list.

    Args:
        text: Text of the expression, as written.
    """

    expression: Expression
    alias: str | None
    text: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class From:
    """A source of a query and its alias."""

    name: str
    alias: str
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class JoinClause:
    """A JOIN clause, which joins a source to the sources before it.

    Args:
        kind: INNER, LEFT, RIGHT, FULL.
        within: Durations of WITHIN (ms) before and after, or None if there is no WITHIN.
        grace_ms: Grace period (ms), or None if there is no GRACE PERIOD.
    """

    kind: str
    source: From
    within: tuple[int, int] | None
    grace_ms: int | None
    on: Expression


@dataclass(frozen=True, slots=True)
class WindowClause:
    """A WINDOW clause. All times are in ms.

    Args:
        kind: TUMBLING, HOPPING, SESSION.
        size_ms: Size of a window, or the inactivity gap of a session.
    """

    kind: str
    size_ms: int
    advance_ms: int
    grace_ms: int | None
    retention_ms: int | None


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT query.

    Args:
        emit: CHANGES, FINAL, or "". A standalone query with "" is a pull query.
        as_of: Time (ms since 1970) of FOR SYSTEM_TIME AS OF, at which the returned rows were valid.
        standard: Whether nulls follow standard SQL. A comparison with null is then unknown, and the sum of no values is
            null.
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
    """A column of a CREATE statement. Its role is "", KEY, PRIMARY KEY, HEADERS or HEADER."""

    name: str
    type: SqlType
    role: str = ""
    header: str = ""
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True, slots=True)
class Statement:
    """Base class of statements.

    Args:
        text: Text of the statement, as written.
    """

    place: Place = field(default=NOWHERE, kw_only=True, compare=False)
    text: str = field(default="", kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class CreateSource(Statement):
    """CREATE STREAM or CREATE TABLE for a topic."""

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
        query_id: Name of the query. If it is "", a name is generated.
    """

    name: str
    query: Query
    query_id: str = ""


@dataclass(frozen=True, slots=True)
class InsertValues(Statement):
    """INSERT INTO ... VALUES, which sends one record.

    Args:
        columns: Columns of the values. If it is empty, the values are those of all columns in declared order.
    """

    name: str
    columns: tuple[str, ...]
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Select(Statement):
    """A standalone query, which is a push query if it has EMIT CHANGES, and a pull query if not."""

    query: Query


@dataclass(frozen=True, slots=True)
class CreateType(Statement):
    """CREATE TYPE name AS type. The parser already replaces named types by their definitions."""

    name: str
    type: SqlType


@dataclass(frozen=True, slots=True)
class SetProperty(Statement):
    """SET or UNSET of a property."""

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Command(Statement):
    """SHOW, DESCRIBE, EXPLAIN, PRINT, TERMINATE, PAUSE, RESUME or DROP, with the name that it applies to."""

    verb: str
    subject: str = ""
    statement: Statement | None = None
    if_exists: bool = False
    deletes_topic: bool = False
    is_extended: bool = False
