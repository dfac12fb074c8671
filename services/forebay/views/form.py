"""Checks that a view uses only the part of SQL that views of services support."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from forebay.sql import syntax
from forebay.sql.printed import to_sql
from forebay.sql.syntax import Call, CreateAs, Expression, Query, Selected, Star
from forebay.views.model import Column, Source, ViewError

FORM = "write CREATE MATERIALIZED VIEW name AS SELECT ... FROM source [WHERE ...] GROUP BY column [, ...]"
FUNCTIONS = ("AVG", "SUM", "COUNT", "MIN", "MAX")
KINDS = {str: "a text", int: "a whole number", float: "a number", bool: "a boolean"}
_USABLE = re.compile(r"[a-z][a-z0-9_]*")

Checked = tuple[tuple[str, ...], Mapping[str, Column], tuple[str, ...]]
"""Names of the selected columns, the grouping columns among them by name, and names of the key's columns."""


class Form:
    """Checks one view's statement.

    Args:
        file: name of the file, prefix of all messages.
        source: the source of the view's columns.
    """

    def __init__(self, file: str, source: Source) -> None:
        self.file = file
        self.source = source
        self._alias = source.topic

    def fail(self, message: str) -> NoReturn:
        """Raise ViewError with the file and a message."""
        raise ViewError(f"{self.file}: {message}")

    def wrong_source(self, said: str) -> NoReturn:
        """Raise ViewError for a wrong source in FROM."""
        self.fail(f"{said}: this service's views select FROM {self.source.topic}")

    def check(self, statement: CreateAs) -> Checked:
        """Check a statement except its condition. Return its selected and grouping columns. Raises ViewError."""
        query, name = statement.query, self._own(statement.name, "a view, which is its topic's too")
        if query.emit:
            self.fail(
                f"a part of it is not understood (is there more behind GROUP BY?): {FORM}, and nothing else",
            )
        if name == self.source.topic:
            self.fail(
                f"the view has the name of the topic it reads, {name}, and would read its own rows: choose another"
            )
        if query.source.name != self.source.topic:
            self.wrong_source(f"FROM {query.source.name}")
        self._alias = query.source.alias
        group_by = self._group_by(query)
        groups: dict[str, Column] = {}
        names = [self._select(column, group_by, groups) for column in query.select]
        self._check_columns(names, groups, group_by)
        return tuple(names), groups, tuple(group_by)

    def column(self, node: Expression) -> Column:
        """Return the source's column that an expression names. Raises ViewError."""
        if not isinstance(node, syntax.Column):
            self.fail(
                f"{sql_text(node)} stands where a column of {self.source.topic} must: {self._columns_there_are()}"
            )
        columns, name = self.source.columns, node.name
        if node.source not in ("", self._alias):
            self.fail(f"{sql_text(node)}: {node.source} is not selected from: write {name}")
        if name not in columns:
            self.fail(f"{self.source.topic} has no column {name!r}{_near(name, columns)}: {self._columns_there_are()}")
        return columns[name]

    def _columns_there_are(self) -> str:
        return f"it has {', '.join(self.source.columns)}"

    def _own(self, name: str, of: str) -> str:
        """Return a name that the view defines."""
        if not _USABLE.fullmatch(name):
            self.fail(f"{name!r} can't be the name of {of}: use a-z, 0-9 and _, a letter first")
        if keyword.iskeyword(name) or name == "self":
            self.fail(f"{name!r} can't be the name of {of}: it means something in Python: choose another")
        return name

    def _group_by(self, query: Query) -> dict[str, Column]:
        for clause, value in (("WINDOW", query.window), ("PARTITION BY", query.partition_by)):
            if value:
                self.fail(f"{clause} can't be in a view: {FORM}")
        if not query.group_by:
            self.fail(f"no GROUP BY: say which column makes the rows, such as GROUP BY {self.source.key}")
        columns = [self.column(node) for node in query.group_by]
        for column in columns:
            if column.type is not str:
                self.fail(
                    f"GROUP BY {column.name}: it is {KINDS[column.type]}, but keys are texts: group by a text column"
                )
        by_name = {column.name: column for column in columns}
        if len(by_name) < len(columns):
            self.fail("GROUP BY names a column twice: name it once")
        return by_name

    def _select(self, selected: Selected, group_by: Mapping[str, Column], groups: dict[str, Column]) -> str:
        """Return the name of a selected column. Add a grouping column to `groups`."""
        node, text = selected.expression, selected.text
        if isinstance(node, syntax.Column):
            column = self.column(node)
            if column.name not in group_by:
                self.fail(
                    f"{column.name} is selected but not grouped by: add it to GROUP BY, or aggregate it, such as "
                    f"MAX({column.name}) AS last_{column.name}"
                )
            name = self._own(selected.alias or column.name, "a column")
            groups.setdefault(name, column)
            return name
        if not isinstance(node, Call) or node.name not in FUNCTIONS:
            self.fail(f"{text} can't be kept up to date: use {', '.join(FUNCTIONS)}, each of one column")
        if not selected.alias:
            self.fail(f"{text} has no name: write {text} AS some_name")
        self._check_call(node, text)
        return self._own(selected.alias, "a column")

    def _check_call(self, call: Call, text: str) -> None:
        one = call.arguments[0] if len(call.arguments) == 1 else None
        if call.name == "COUNT" and one == Star():
            return
        if not isinstance(one, syntax.Column):
            self.fail(f"{text}: {call.name} takes one column: {self._columns_there_are()}")
        column = self.column(one)
        kind = f"{text}: {column.name} is {KINDS[column.type]}"
        if call.name in ("AVG", "SUM") and column.type not in (int, float):
            self.fail(f"{kind}: {call.name} takes a number")
        if call.name in ("MIN", "MAX") and column.type is bool:
            self.fail(f"{kind}: {call.name} takes a number or a text")

    def _check_columns(self, names: list[str], groups: Mapping[str, Column], group_by: Mapping[str, Column]) -> None:
        selected = {column.name for column in groups.values()}
        for name in group_by:
            if name not in selected:
                self.fail(f"{name} is grouped by but not selected: a row must show its key: add {name} to SELECT")
        if len(groups) == len(names):
            self.fail("the view has no aggregate: add one, such as COUNT(*) AS number")
        for name in names:
            if names.count(name) > 1:
                self.fail(f"two columns are called {name}: give one another name, with AS")
            if name not in groups and f"{name}_total" in names:
                self.fail(f"{name}_total is what the total of {name} is called: give the column another name")


def sql_text(expression: Expression) -> str:
    """Return an expression as SQL, without parentheses around it."""
    text = to_sql(expression)
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
