"""Names in a view's SQL: as in PostgreSQL, what is not quoted is in lower case."""

from __future__ import annotations

import difflib
import keyword
import re
from collections.abc import Iterable
from typing import NoReturn

from sqlglot import exp

from forebay.views.model import Column, Source, ViewError

_USABLE = re.compile(r"[a-z][a-z0-9_]*")


class Names:
    """Finds out what the names in one view's SQL mean.

    Args:
        file: begins every message.
        source: whose columns are meant.
    """

    def __init__(self, file: str, source: Source) -> None:
        self.source = source
        self._file = file
        self._qualifiers = {source.topic}
        self.used: set[str] = set()

    def fail(self, message: str) -> NoReturn:
        """Raise ViewError with the file in front."""
        raise ViewError(f"{self._file}: {message}")

    def own(self, node: exp.Expr | None, of: str) -> str:
        """Return a name the view defines: a topic's, a column's."""
        name = text_of(node)
        if not _USABLE.fullmatch(name):
            self.fail(f"{name!r} can't be the name of {of}: use a-z, 0-9 and _, a letter first")
        if keyword.iskeyword(name) or name == "self":
            self.fail(f"{name!r} can't be the name of {of}: it means something in Python: choose another")
        return name

    def alias(self, name: str) -> None:
        """Let `name` stand for the source before a dot."""
        self._qualifiers = {name}

    def column(self, node: exp.Expr) -> Column:
        """Return the source's column that a node names."""
        if not isinstance(node, exp.Column):
            self.fail(f"{node.sql()} stands where a column of {self.source.topic} must: {self.columns_there_are()}")
        name, columns = text_of(node.this), self.source.columns
        qualifier = text_of(node.args.get("table"))
        if qualifier and qualifier not in self._qualifiers:
            self.fail(f"{node.sql()}: {qualifier} is not selected from: write {name}")
        if name not in columns:
            self.fail(f"{self.source.topic} has no column {name!r}{_near(name, columns)}: {self.columns_there_are()}")
        self.used.add(name)
        return columns[name]

    def columns_there_are(self) -> str:
        """Say which columns the source has."""
        return f"it has {', '.join(self.source.columns)}"


def text_of(node: exp.Expr | None) -> str:
    """Return an identifier's name; "" for none."""
    identifier = node if isinstance(node, exp.Identifier) else None if node is None else node.this
    if not isinstance(identifier, exp.Identifier):
        return "" if node is None else node.sql()
    return str(identifier.name) if identifier.args.get("quoted") else str(identifier.name).lower()


def _near(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {near[0]}?)" if near else ""
