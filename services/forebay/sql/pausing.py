"""PAUSE and RESUME in a file: which queries a job leaves out. Their state and topics stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.sql.catalog import Catalog
from forebay.sql.errors import Place
from forebay.sql.evolution import named_queries, with_source
from forebay.sql.plan import QueryPlan


def pause(paused: dict[str, None], queries: Sequence[QueryPlan], name: str, place: Place, *, resumes: bool) -> None:
    """Note the queries that a statement pauses or resumes, ALL or one by its name. Raises SqlError."""
    for query in named_queries(queries, name, place):
        if resumes:
            paused.pop(query.name, None)
        else:
            paused[query.name] = None


def without_paused(paused: dict[str, None], queries: list[QueryPlan], catalog: Catalog) -> list[QueryPlan]:
    """Return the queries that run. What a paused one wrote stays declared over its topic, and others read it there."""
    running = [query for query in queries if query.name not in paused]
    for query in queries:
        if query.name in paused and not query.is_insert:
            plain = replace(query.target, is_derived=False)
            running = [with_source(other, query.target, plain) for other in running]
            catalog.add(plain, replaces=True)
    return running
