"""A view's SQL: CREATE MATERIALIZED VIEW name AS SELECT ... FROM source [WHERE ...] GROUP BY column [, ...]."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from forebay.views.model import Aggregate, Column, Function, Group, Source, View, ViewError
from forebay.views.names import Names, text_of
from forebay.views.where import predicate

_DIALECT = "postgres"
_FORM = "CREATE MATERIALIZED VIEW name AS SELECT ... FROM source [WHERE ...] GROUP BY column [, ...]"
_FUNCTIONS: Mapping[type[exp.Expr], Function] = MappingProxyType(
    {
        exp.Avg: Function.AVG,
        exp.Sum: Function.SUM,
        exp.Count: Function.COUNT,
        exp.Min: Function.MIN,
        exp.Max: Function.MAX,
    }
)
_CLAUSES = MappingProxyType({"joins": "JOIN", "with_": "WITH", "distinct": "SELECT DISTINCT", "order": "ORDER BY"})


def parse_view(sql: str, file: str, source: Source) -> View:
    """Return the view that the text of a file describes.

    Args:
        file: its name, for messages.
        source: what it may select from.

    Raises:
        ViewError: it is no view, or not one of this source.
    """
    try:
        return _view(_statement(sql, file), file, source)
    except RecursionError:
        raise ViewError(
            f"{file}: its expressions are nested too deeply to be understood: take parentheses and NOTs out"
        ) from None


def _view(create: exp.Expr, file: str, source: Source) -> View:
    names = Names(file, source)
    select = _select(create, names)
    name = names.own(create.this, "a view, which is its topic's too")
    if name == source.topic:
        names.fail(f"the view has the name of the topic it reads, {name}, and would read its own rows: choose another")
    _check_source(select, names)
    group_by = _group_by(select, names)
    columns = tuple(_selected(node, group_by, names) for node in select.expressions)
    _check_columns(columns, group_by, names)
    where = select.args.get("where")
    keeps = None if where is None else predicate(where.this, names)
    return View(name, file, source, columns, tuple(group_by), keeps, frozenset(names.used))


def _statement(sql: str, file: str) -> exp.Expr:
    try:
        parsed = sqlglot.parse(sql, read=_DIALECT)
    except SqlglotError as error:
        raise ViewError(f"{file}: {_where(error)}: write {_FORM}") from error
    statements = [each for each in parsed if each is not None and not isinstance(each, exp.Semicolon)]
    if len(statements) != 1:
        raise ViewError(f"{file}: {len(statements)} statements in it: a file holds one, {_FORM}")
    return statements[0]


def _where(error: SqlglotError) -> str:
    for each in getattr(error, "errors", ()):
        return f"line {each['line']}, column {each['col']}: {each['description']} near {each['highlight']!r}"
    return str(error)


def _select(create: exp.Expr, names: Names) -> exp.Select:
    if isinstance(create, exp.Command):
        names.fail(f"a part of it is not understood (is there more behind GROUP BY?): write {_FORM}, and nothing else")
    properties = create.args.get("properties")
    materialized = properties is not None and [type(each) for each in properties.expressions] == [
        exp.MaterializedProperty
    ]
    if not isinstance(create, exp.Create) or not materialized or create.args.get("replace") or create.args["exists"]:
        names.fail(f"it does not create a materialized view: write {_FORM}, and nothing else")
    select = create.args.get("expression")
    if not isinstance(select, exp.Select) or not isinstance(create.this, exp.Table) or create.this.args.get("db"):
        names.fail(f"a view is one SELECT under a plain name: write {_FORM}")
    known = {"kind", "expressions", "from_", "where", "group"}
    for clause, value in select.args.items():
        if value and clause not in known:
            names.fail(f"{_CLAUSES.get(clause, clause.upper())} can't be in a view: write {_FORM}")
    return select


def _check_source(select: exp.Select, names: Names) -> None:
    topic = names.source.topic
    found = select.args.get("from_")
    table = None if found is None else found.this
    if not isinstance(table, exp.Table) or table.args.get("db") or text_of(table) != topic:
        said = "no FROM" if table is None else f"FROM {table.sql()}"
        names.fail(f"{said}: this service's views select FROM {topic}")
    if table.alias:
        names.alias(text_of(table.args["alias"]))


def _group_by(select: exp.Select, names: Names) -> dict[str, Column]:
    group = select.args.get("group")
    if group is None:
        names.fail("no GROUP BY: say which column makes the rows, such as GROUP BY " + names.source.key)
    if not group.expressions or any(value for key, value in group.args.items() if key != "expressions"):
        names.fail(f"{group.sql().strip()}: write GROUP BY column [, ...]")
    columns = [names.column(node) for node in group.expressions]
    for column in columns:
        if column.type is not str:
            names.fail(f"GROUP BY {column.name}: it is {_kind(column)}, but keys are texts: group by a text column")
    found = {column.name: column for column in columns}
    if len(found) < len(columns):
        names.fail("GROUP BY names a column twice: name it once")
    return found


def _selected(node: exp.Expr, group_by: Mapping[str, Column], names: Names) -> Group | Aggregate:
    alias = names.own(node.args["alias"], "a column") if isinstance(node, exp.Alias) else ""
    inner: Any = node.this if isinstance(node, exp.Alias) else node
    if isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
        column = names.column(inner)
        if column.name not in group_by:
            names.fail(
                f"{column.name} is selected but not grouped by: add it to GROUP BY, or aggregate it, such as "
                f"MAX({column.name}) AS last_{column.name}"
            )
        return Group(alias or names.own(inner.this, "a column"), column)
    function = _FUNCTIONS.get(type(inner))
    if function is None:
        names.fail(f"{inner.sql(_DIALECT)} can't be kept up to date: use {', '.join(Function)}, each of one column")
    if not alias:
        names.fail(f"{inner.sql(_DIALECT)} has no name: write {inner.sql(_DIALECT)} AS some_name")
    return Aggregate(alias, function, _argument(inner, function, names))


def _argument(call: exp.Expr, function: Function, names: Names) -> Column | None:
    if function is Function.COUNT and isinstance(call.this, exp.Star):
        return None
    if isinstance(call.this, exp.Distinct):
        names.fail(f"{call.sql(_DIALECT)} can't be kept up to date without every value: leave DISTINCT out")
    if not isinstance(call.this, exp.Column) or call.expressions:
        names.fail(f"{call.sql(_DIALECT)}: {function} takes one column: {names.columns_there_are()}")
    column = names.column(call.this)
    if function in (Function.AVG, Function.SUM) and not column.is_number:
        names.fail(f"{call.sql(_DIALECT)}: {column.name} is {_kind(column)}: {function} takes a number")
    if function in (Function.MIN, Function.MAX) and column.type is bool:
        names.fail(f"{call.sql(_DIALECT)}: {column.name} is {_kind(column)}: {function} takes a number or a text")
    return column


def _check_columns(columns: tuple[Group | Aggregate, ...], group_by: Mapping[str, Column], names: Names) -> None:
    selected = {each.column.name for each in columns if isinstance(each, Group)}
    for name in group_by:
        if name not in selected:
            names.fail(f"{name} is grouped by but not selected: a row must show its key: add {name} to SELECT")
    if all(isinstance(each, Group) for each in columns):
        names.fail("nothing is aggregated: add such as COUNT(*) AS number")
    known: set[str] = set()
    for each in columns:
        if each.name in known:
            names.fail(f"two columns are called {each.name}: give one another name, with AS")
        known.add(each.name)
    for each in columns:
        if isinstance(each, Aggregate) and each.total_name in known:
            names.fail(f"{each.total_name} is what the total of {each.name} is called: give the column another name")


def _kind(column: Column) -> str:
    return {str: "a text", int: "a whole number", float: "a number", bool: "a boolean"}[column.type]
