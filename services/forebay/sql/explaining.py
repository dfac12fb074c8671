"""EXPLAIN, which returns the steps of queries as text, and their topology as a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.drawing import graph_of, upstream
from forebay.builder.notebook_view import picture_without_service
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.plan import QueryPlan, step_lines
from forebay.sql.printed import to_sql
from forebay.sql.program import Program
from forebay.sql.reading import HIGHEST, LOWEST, reading_of
from forebay.sql.syntax import Command, Query, Select
from forebay.sql.transient import needs_topology, plan_of


@dataclass(frozen=True, slots=True)
class Explained:
    """The output of EXPLAIN.

    Args:
        lines: Lines of the plan.
        graph: Sub-topologies, steps and stores from which the topics of the queries are derived, or {}.
    """

    lines: list[str]
    graph: dict[str, Any]


def explain(program: Program, command: Command) -> Explained:
    """Return the plan of a query, of a SELECT, of a statement that is added to the program, or of all queries.

    Raises:
        SqlError: The query does not exist, or the statement is invalid.
    """
    queries: list[QueryPlan] = program.queries
    name = command.subject
    if isinstance(command.statement, Select):
        return Explained(_lines_of_select(command.statement.query, program), {})
    if command.statement is not None:
        before = len(queries)
        program.add(command.statement)
        queries = program.queries[before:]
    elif name and name != "ALL":
        queries = [query for query in queries if name in (query.name, query.target.name)]
        if not queries:
            named = ", ".join(query.name for query in program.queries)
            raise SqlError(command.place, f"there is no query {name}: write one of {named or 'none'}")
    graph = graph_of(picture_without_service(topology_of(program))) if program.queries else {}
    lines = [line for query in queries for line in query.lines(typed=True)]
    lines.append(f"one job: sub-topologies {len(graph.get('stages', ()))}, queries {len(program.queries)}")
    return Explained(lines, upstream(graph, (query.target.topic for query in queries)) if queries else {})


def _lines_of_select(query: Query, program: Program) -> list[str]:
    """Return the plan of a pull or push query. Raises SqlError."""
    kind = "push" if query.emit else "pull"
    if query.emit and needs_topology(query):
        plan, _ = plan_of(query, program)
        return [f"{kind} query, which computes its result from the topics", *step_lines(plan.step, 1, typed=True)]
    reading = reading_of(query, program.catalog)
    of_kind = "table" if reading.source.is_table else "stream"
    keys = "all keys" if reading.keys is None else f"keys: {len(reading.keys)}"
    low, high = reading.starts or (LOWEST, HIGHEST)
    bounds = [f"from {low} ms" if low != LOWEST else "", f"to {high} ms" if high != HIGHEST else ""]
    windows = f", windows that start {' '.join(filter(None, bounds))}" if any(bounds) else ""
    lines = [
        f"{kind} query of {of_kind} {reading.source.name}",
        f"  columns {', '.join(map(str, reading.columns))}",
        f"  reads {keys}{windows}",
    ]
    if query.where is not None:
        lines.append(f"  keeps rows where {to_sql(query.where)}")
    return lines if query.limit is None else [*lines, f"  returns at most {query.limit} rows"]
