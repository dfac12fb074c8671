"""PAUSE and RESUME in a file: which queries a job leaves out. Their state and topics stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.sql.catalog import Catalog
from forebay.sql.errors import Place, SqlError
from forebay.sql.evolution import named_queries, reads
from forebay.sql.plan import QueryPlan


def pause(paused: dict[str, Place], queries: Sequence[QueryPlan], name: str, place: Place, *, resumes: bool) -> None:
    """Note the queries that a statement pauses or resumes, ALL or one by its name. Raises SqlError."""
    for query in named_queries(queries, name, place):
        if resumes:
            paused.pop(query.name, None)
        else:
            paused[query.name] = place


def without_paused(paused: dict[str, Place], queries: list[QueryPlan], catalog: Catalog) -> list[QueryPlan]:
    """Return the queries that run. What a paused one wrote stays declared over its topic.

    Raises:
        SqlError: a query that runs reads what a paused one wrote.
    """
    running = [query for query in queries if query.name not in paused]
    for query in queries:
        if query.name in paused and not query.is_insert:
            # Within the job, such a query takes the rows from the paused one. Its job has no position in the topic, so
            # that it would read all former rows again.
            readers = [other.name for other in running if query.target in reads(other)]
            if readers:
                raise SqlError(
                    paused[query.name],
                    f"{query.name} can't be paused while {', '.join(readers)} reads its result: write PAUSE "
                    f"{readers[0]}, too",
                )
            catalog.add(replace(query.target, is_derived=False), replaces=True)
    return running
