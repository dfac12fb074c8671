"""A session of `forebay sql`: its settings and variables, and the files that it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forebay.cli.sql_client import SqlClient
from forebay.sql.administration import Define, RunScript
from forebay.sql.changes import is_change
from forebay.sql.errors import SqlError
from forebay.sql.scripts import Scripts
from forebay.sql.statements import parse
from forebay.sql.syntax import Command, SetProperty, Statement
from forebay.sql.types import SqlType
from forebay.sql.variables import Variables

Lines = Iterator[dict[str, Any]]


class Session:
    """Settings of SET and variables of DEFINE, which apply to the statements after them.

    Args:
        client: sends the statements.
    """

    def __init__(self, client: SqlClient) -> None:
        self._client = client
        self._settings: dict[str, str] = {}
        self._variables = Variables()
        self._types: dict[str, SqlType] = {}

    def answers(self, text: str) -> Iterator[Lines]:
        """Yield the response to each statement of a text. If all of them change something, send them in one request.

        Raises SqlError, click.ClickException.
        """
        variables, types = Variables(dict(self._variables.values)), dict(self._types)
        try:
            statements = list(_with_scripts(parse(text, "", types, variables), types, variables))
        except SqlError:
            if self._settings or self._variables.values or _needs_session(text):
                raise
            yield self._client.lines(text)  # the engine may know types that its former statements created
            return
        self._variables, self._types = variables, types
        yield from self._statements([statement for statement in statements if not isinstance(statement, Define)])

    def _statements(self, statements: Sequence[Statement]) -> Iterator[Lines]:
        if len(statements) > 1 and all(map(is_change, statements)):
            yield self._client.lines(f"{self._prefix}{join_texts(statements)}")
            return
        for statement in statements:
            if isinstance(statement, SetProperty):
                self._set(statement)
            elif isinstance(statement, Command) and (statement.verb, statement.subject) == ("SHOW", "VARIABLES"):
                yield self._show_variables(statement)
            else:
                yield self._client.lines(f"{self._prefix}{statement.text};")

    def _set(self, statement: SetProperty) -> None:
        if statement.value is None:
            self._settings.pop(statement.name, None)
        else:
            self._settings[statement.name] = statement.value.replace("'", "''")

    def _show_variables(self, statement: Statement) -> Lines:
        """Return the session's variables; if it has none, those of the server's file."""
        if not self._variables.values:
            return self._client.lines(f"{statement.text};")
        rows = [{"variable": name, "value": value} for name, value in sorted(self._variables.values.items())]
        return iter([{"columns": [{"name": "variable"}, {"name": "value"}]}, *({"row": row} for row in rows)])

    @property
    def _prefix(self) -> str:
        return "".join(f"SET '{name}'='{value}'; " for name, value in self._settings.items())


def _with_scripts(
    statements: Sequence[Statement], types: dict[str, SqlType], variables: Variables
) -> Iterator[Statement]:
    """Yield the statements, with each RUN SCRIPT replaced by its file's statements. Raises SqlError."""
    for statement in statements:
        if isinstance(statement, RunScript):
            yield from Scripts(types, variables).read(Path(statement.path).expanduser(), statement.place)
        else:
            yield statement


def join_texts(statements: Sequence[Statement]) -> str:
    """Return statements as one text."""
    return "".join(f"{statement.text};\n" for statement in statements)


def _needs_session(text: str) -> bool:
    """Return whether a text uses variables, or a file of this machine, which a server does not have."""
    return "${" in text or "RUN SCRIPT" in " ".join(text.upper().split())
