"""SHOW, DESCRIBE, EXPLAIN: what a program has, as rows."""

from __future__ import annotations

from typing import Any

from forebay.builder.components import components
from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.catalog import Source
from forebay.sql.compile import topology_of
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import SIGNATURES, SPECIAL
from forebay.sql.plan import QueryPlan
from forebay.sql.program import Program
from forebay.sql.syntax import Command

Rows = list[dict[str, Any]]

_QUERIES = "change the job's files and start it anew"
_INSTEAD = {
    "PRINT": "write SELECT * FROM the stream of the topic EMIT CHANGES, or use `forebay tail TOPIC`",
    "TERMINATE": "the queries of a file run as one job: stop that, or leave the query out of its file",
}


def described(program: Program, command: Command) -> Rows:
    """Return the rows of a SHOW, DESCRIBE or EXPLAIN. Raises SqlError."""
    match command.verb, command.subject:
        case "SHOW", "STREAMS" | "TABLES":
            wanted = command.subject == "TABLES"
            return [_source(each) for each in program.catalog if each.is_table is wanted]
        case "SHOW", "QUERIES":
            return [
                {"query": each.name, "writes": each.target.name, "topic": each.target.topic, "statement": each.text}
                for each in program.queries
            ]
        case "SHOW", "TOPICS":
            return [{"topic": topic} for topic in sorted({each.topic for each in program.catalog})]
        case "SHOW", "FUNCTIONS":
            plain = [{"function": name, "kind": "scalar"} for name in {*SIGNATURES, *SPECIAL}]
            kept = [{"function": name, "kind": "aggregate"} for name in AGGREGATES]
            more = [{"function": name, "kind": "table"} for name in ("EXPLODE", "CUBE_EXPLODE")]
            return sorted(plain + kept + more, key=lambda row: row["function"])
        case "SHOW", "TYPES":
            return [{"type": name, "is": str(kind)} for name, kind in program.catalog.types.items()]
        case "DESCRIBE", name:
            source = program.catalog.get(name, command.place)
            return [
                *({"column": each.name, "type": str(each.type), "role": "key"} for each in source.keys),
                *({"column": each.name, "type": str(each.type), "role": ""} for each in source.values),
            ]
        case "EXPLAIN", name:
            return [{"plan": line} for line in explained(program, command, name)]
    raise SqlError(command.place, f"{command.verb} can't be answered here: {_INSTEAD.get(command.verb, _QUERIES)}")


def explained(program: Program, command: Command, name: str) -> list[str]:
    """Return the plan of a query, or of a statement, and how many sub-topologies run all of them. Raises SqlError."""
    queries: list[QueryPlan] = program.queries
    if command.statement is not None:
        before = len(queries)
        program.add(command.statement)
        queries = program.queries[before:]
    elif name and name != "ALL":
        queries = [each for each in queries if name in (each.name, each.target.name)]
        if not queries:
            named = ", ".join(each.name for each in program.queries)
            raise SqlError(command.place, f"there is no query {name}: write one of {named or 'none'}")
    lines = [line for query in queries for line in query.lines()]
    parts = components(topology_of(program).graph) if program.queries else ()
    return [*lines, f"one job: sub-topologies {len(parts)}, queries {len(program.queries)}"]


def _source(source: Source) -> dict[str, Any]:
    window = source.windowing
    return {
        "name": source.name,
        "topic": source.topic,
        "key_format": source.encoding.key,
        "value_format": source.encoding.value,
        "windowed": "" if window is None else window.kind,
    }
