"""Responses to SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.catalog import Source
from forebay.sql.errors import SqlError
from forebay.sql.explaining import explain
from forebay.sql.exploding import TABLE_FUNCTIONS
from forebay.sql.extension.declaring import DECLARED
from forebay.sql.functions.registry import SIGNATURES, SPECIAL, similar_functions, word_of
from forebay.sql.program import INSTEAD, SETTINGS, Program
from forebay.sql.syntax import Command

Rows = list[dict[str, Any]]

_QUERIES = (
    "this job's statements are in files: change the files and restart the job. For an engine that takes statements, "
    "run `forebay sql --live NAME`"
)


def describe(program: Program, command: Command) -> Iterator[dict[str, Any]]:
    """Yield the lines of the response to SHOW, DESCRIBE or EXPLAIN: columns, rows, the end, and a plan's graph.

    Raises:
        SqlError: The named object does not exist, or the command is not supported here.
    """
    if command.verb == "EXPLAIN":
        plan = explain(program, command)
        return chain(_lines([{"plan": line} for line in plan.lines]), [{"graph": plan.graph}] if plan.graph else [])
    return _lines(_rows(program, command))


def _rows(program: Program, command: Command) -> Rows:
    match command.verb, command.subject:
        case "SHOW", "STREAMS" | "TABLES":
            wanted = command.subject == "TABLES"
            return [_source(source) for source in program.catalog if source.is_table is wanted]
        case "SHOW", "QUERIES":
            return [
                {"query": query.name, "writes": query.target.name, "topic": query.target.topic, "statement": query.text}
                for query in (*program.queries, *program.waiting)
            ]
        case "SHOW", "TOPICS":
            return [{"topic": topic} for topic in sorted({source.topic for source in program.catalog})]
        case "SHOW", "FUNCTIONS":
            plain = [{"function": name, "kind": "scalar"} for name in {*SIGNATURES, *SPECIAL}]
            aggregates = [{"function": name, "kind": "aggregate"} for name in AGGREGATES]
            more = [{"function": name, "kind": "table"} for name in TABLE_FUNCTIONS]
            rows = sorted(plain + aggregates + more, key=lambda row: row["function"])
            return [{**row, "description": _summary(row["function"])} for row in rows]
        case "SHOW", "PROPERTIES":
            own = [name for name in program.settings if name not in SETTINGS]
            return [
                {
                    "property": name,
                    "value": program.settings.get(name, ""),
                    "meaning": SETTINGS.get(name, "no effect"),
                }
                for name in (*SETTINGS, *own)
            ]
        case "SHOW", "VARIABLES":
            return [{"variable": name, "value": value} for name, value in sorted(program.variables.values.items())]
        case "SHOW", "TYPES":
            return [{"type": name, "is": str(kind)} for name, kind in program.catalog.types.items()]
        case "DESCRIBE FUNCTION", name:
            return _function(name.upper(), command)
        case "DESCRIBE", name:
            source = program.catalog.get(name, command.place)
            return [
                *({"column": column.name, "type": str(column.type), "role": "key"} for column in source.keys),
                *({"column": column.name, "type": str(column.type), "role": ""} for column in source.values),
            ]
    raise SqlError(command.place, f"{command.verb} can't be answered here: {INSTEAD.get(command.verb, _QUERIES)}")


def _function(name: str, command: Command) -> Rows:
    """Return the signatures of a function. Raises SqlError if it does not exist."""
    own = DECLARED.get(name)
    if own is not None:
        row = {"function": own.call, "kind": own.kind, "returns": own.result}
        return [{**row, "description": own.text, "defined": str(own.place)}]
    kind = "aggregate" if name in AGGREGATES else "table" if name in TABLE_FUNCTIONS else "scalar"
    calls = [f"{name}({', '.join(map(word_of, signature.parameters))})" for signature in SIGNATURES.get(name, ())]
    if not calls and kind == "scalar" and name not in SPECIAL:
        raise SqlError(command.place, f"there is no function {name}: {similar_functions(name)}")
    return [{"function": call, "kind": kind} for call in calls or [f"{name}(...)"]]


def _summary(name: str) -> str:
    """Return the first line of the docstring of a user-defined function, or ""."""
    return DECLARED[name].text.partition("\n")[0] if name in DECLARED else ""


def _lines(rows: Rows) -> Iterator[dict[str, Any]]:
    yield {"columns": [{"name": name} for name in (rows[0] if rows else ())]}
    yield from ({"row": row} for row in rows)
    yield {"end": {"rows": len(rows)}}


def _source(source: Source) -> dict[str, Any]:
    window = source.windowing
    return {
        "name": source.name,
        "topic": source.topic,
        "key_format": source.encoding.key,
        "value_format": source.encoding.value,
        "windowed": "" if window is None else window.kind,
    }
