"""EXPLAIN: the steps of queries as lines, and the topology that runs them as a graph to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.builder.drawing import graph_of, upstream
from forebay.builder.shown import picture_without_service
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.plan import QueryPlan
from forebay.sql.program import Program
from forebay.sql.syntax import Command


@dataclass(frozen=True, slots=True)
class Explained:
    """The output of EXPLAIN.

    Args:
        lines: of the plan.
        graph: sub-topologies, steps and stores that the queries' topics get their records from; {}: there is none.
    """

    lines: list[str]
    graph: dict[str, Any]


def explain(program: Program, command: Command) -> Explained:
    """Return the plan of a query, of a statement that is added to the program, or of all queries. Raises SqlError."""
    queries: list[QueryPlan] = program.queries
    name = command.subject
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
