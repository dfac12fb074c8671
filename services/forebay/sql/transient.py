"""Push queries that join, group or explode, each of which runs its own topology."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from forebay.builder.keys import Windowed
from forebay.builder.nodes import TopologyError
from forebay.builder.stream import Stream
from forebay.builder.topology_job import job
from forebay.job import Job
from forebay.sql import checks
from forebay.sql.aggregation import is_aggregate
from forebay.sql.analyze import Analysis
from forebay.sql.catalog import BOUNDS, Catalog, Encoding, Named, Source
from forebay.sql.compile import Compiler
from forebay.sql.encodings.readers import writer
from forebay.sql.errors import SqlError
from forebay.sql.exploding import TABLE_FUNCTIONS
from forebay.sql.plan import QueryPlan
from forebay.sql.program import Program
from forebay.sql.service import NoSettings
from forebay.sql.syntax import Call, Query
from forebay.sql.tokens import TOO_DEEP
from forebay.sql.walk import parts

ANSWER = "answer"
"""In-memory topic to which the rows of the result are written."""


@dataclass(frozen=True, slots=True)
class Transient:
    """A push query that needs a topology.

    Args:
        columns: Columns of the result, in the order of the SELECT list.
        job: Job that reads the topics of the query's sources, and writes the rows to `ANSWER`.
        limit: Largest number of rows, or None if it is not limited.
        row: Returns the values of a result row from a record's key and value.
        key_cells: Returns the values of a deleted row that are in its key, by column name.
    """

    columns: tuple[Named, ...]
    job: Job
    limit: int | None
    row: Callable[[Any, Any], tuple[Any, ...]]
    key_cells: Callable[[Any], dict[str, Any]]


def needs_topology(query: Query) -> bool:
    """Return whether a push query computes more than a filter and expressions over the rows of one source."""
    if query.joins or query.group_by or query.partition_by or query.window or query.having is not None:
        return True
    return any(
        isinstance(part, Call) and (is_aggregate(part) or part.name in TABLE_FUNCTIONS)
        for item in query.select
        for part in parts(item.expression)
    )


def plan_of(query: Query, program: Program) -> tuple[QueryPlan, tuple[str, ...]]:
    """Return the plan of a push query, and the columns of its result in the order of the SELECT list. Raises SqlError.

    All sources are read from their topics, including those that the job computes.
    """
    analysis = Analysis(query, _read_from_topics(program.catalog), "", program.settings, is_transient=True)
    step, keys, values, relation = analysis.project()
    checks.check_types(query, values)
    target = Source(ANSWER, relation.is_table, keys, values, ANSWER, Encoding(), relation.windowing, is_derived=True)
    return QueryPlan(ANSWER, step, target, relation.is_table, "", place=query.place), analysis.names


def transient_of(query: Query, program: Program) -> Transient:
    """Return the topology for a push query. Raises SqlError."""
    plan, names = plan_of(query, program)
    keys, values = plan.target.keys, plan.target.values

    def build(_settings: NoSettings) -> Any:
        compiler = Compiler(replace(program.copy(), queries=[plan]))
        rows = compiler.step(plan.step, ANSWER)
        (rows if isinstance(rows, Stream) else rows.to_stream()).to(ANSWER)
        return compiler.topology

    try:
        compiled = job(NoSettings, build, is_shared=True)
    except (TopologyError, TypeError) as error:
        raise SqlError(query.place, f"the query can't run: {error}") from error
    except (RecursionError, MemoryError, SyntaxError) as error:  # Python's own limits of what it compiles
        raise SqlError(query.place, f"the query {TOO_DEEP}") from error
    places = {column.name: (True, at) for at, column in enumerate(keys)}
    places |= {column.name: (False, at) for at, column in enumerate(values)}
    order = [places[name] for name in names]
    columns = tuple((keys if in_key else values)[at] for in_key, at in order)

    def row(key: Any, value: Any) -> tuple[Any, ...]:
        plain = key.key if isinstance(key, Windowed) else key
        return tuple((plain and plain[at]) if in_key else value[at] for in_key, at in order)

    def key_cells(key: Any) -> dict[str, Any]:
        plain = key.key if isinstance(key, Windowed) else key
        cells = {
            column.name: writer(column.type)(plain and plain[at])
            for column, (in_key, at) in zip(columns, order, strict=True)
            if in_key
        }
        return cells | (dict(zip(BOUNDS, key.window, strict=True)) if isinstance(key, Windowed) else {})

    return Transient(columns, compiled, query.limit, row, key_cells)


def _read_from_topics(catalog: Catalog) -> Catalog:
    """Return a catalog in which all sources are read from their topics."""
    result = catalog.copy()
    for source in catalog:
        if source.is_derived:
            result.add(replace(source, is_derived=False), replaces=True)
    return result
