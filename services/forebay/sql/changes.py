"""The distinction between statements that change a program and statements that only read it."""

from __future__ import annotations

from forebay.sql.syntax import Command, Select, SetProperty, Statement

_ASKS = ("SHOW", "DESCRIBE", "DESCRIBE FUNCTION", "EXPLAIN", "PRINT")


def is_change(statement: Statement) -> bool:
    """Return whether a statement changes a program or its topics."""
    return not isinstance(statement, Select | SetProperty) and not (
        isinstance(statement, Command) and statement.verb in _ASKS
    )
