"""PAUSE and RESUME in an engine. For single queries, they belong to the program. PAUSE ALL stops the job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.sql.evolution import named_queries
from forebay.sql.pausing import check_positions
from forebay.sql.program import Program
from forebay.sql.syntax import Command, Statement

_SWITCHES = ("PAUSE", "RESUME")


def switch(added: Sequence[Statement], *, is_paused: bool) -> tuple[list[Statement], bool]:
    """Return the statements of a request that belong to the program, and whether the job is paused after them.

    Args:
        is_paused: whether the job is paused before them.
    """
    lasting: list[Statement] = []
    for statement in added:
        if not isinstance(statement, Command) or statement.verb not in _SWITCHES:
            lasting.append(statement)
            continue
        if statement.verb == "PAUSE":
            if statement.subject.upper() == "ALL":
                is_paused = True
            elif not is_paused:
                lasting.append(statement)
            continue
        if is_paused and statement.subject.upper() != "ALL":
            lasting.append(replace(statement, verb="PAUSE", subject="ALL", text="PAUSE ALL"))
        is_paused = False
        lasting.append(statement)
    return lasting, is_paused


def check_switches(program: Program, added: Sequence[Statement], lasting: Sequence[Statement]) -> None:
    """Check that paused queries can continue where they stopped, and that names are known.

    Args:
        program: program after the request.
        lasting: statements of the request that belong to the program, which has checked their names.

    Raises:
        SqlError: the request is refused. The message contains the remedy.
    """
    for statement in added:
        if isinstance(statement, Command) and statement.verb == "PAUSE" and statement not in lasting:
            named_queries([*program.queries, *program.waiting], statement.subject.upper(), statement.place)
    if added:
        check_positions(program.queries, program.waiting, added[-1].place)
