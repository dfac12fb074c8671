"""PAUSE and RESUME, which determine the queries that a job does not run. Their state and topics do not change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from forebay.sql.catalog import Catalog
from forebay.sql.errors import Place, SqlError
from forebay.sql.evolution import named_queries, reads
from forebay.sql.plan import QueryPlan


def pause(paused: dict[str, Place], queries: Sequence[QueryPlan], name: str, place: Place, *, resumes: bool) -> None:
    """Record that a statement pauses or resumes a query by name, or ALL queries. Raises SqlError."""
    for query in named_queries(queries, name, place):
        if resumes:
            paused.pop(query.name, None)
        else:
            paused[query.name] = place
    # Whether queries may be paused depends on those that run, which this statement was the last to change.
    paused.update(dict.fromkeys(paused, place))


def split_paused(
    paused: dict[str, Place], queries: list[QueryPlan], catalog: Catalog
) -> tuple[list[QueryPlan], list[QueryPlan]]:
    """Return the running and the paused queries. The former results of a paused query can still be read.

    Raises:
        SqlError: A running query reads the result of a paused query.
    """
    running = [query for query in queries if query.name not in paused]
    waiting = [query for query in queries if query.name in paused]
    for query in waiting:
        if not query.is_insert:
            # Within the job, such a query takes the rows from the paused one. Its job has no position in the topic, so
            # that it would read all former rows again.
            readers = [other.name for other in running if query.target in reads(other)]
            if readers:
                raise SqlError(
                    paused[query.name],
                    f"{query.name} can't be paused while {', '.join(readers)} reads its result: write PAUSE "
                    f"{readers[0]}, too",
                )
            # As a SOURCE TABLE, so that pull queries read its topic.
            catalog.add(replace(query.target, is_derived=False, is_read_only=True, is_paused=True), replaces=True)
    return running, waiting


def check_positions(running: Sequence[QueryPlan], waiting: Sequence[QueryPlan], place: Place) -> None:
    """Check that no running query reads a topic of a paused query, or writes a topic that a paused query reads.

    A job has one position in each topic. If the position advanced, the paused query would later resume after records
    that it has never read.

    Raises:
        SqlError: There are such queries. The message names them and the topic.
    """
    for query in waiting:
        inputs = {source.topic for source in reads(query)}
        for other in running:
            for topic in (*(source.topic for source in reads(other)), other.target.topic):
                if topic in inputs:
                    raise SqlError(
                        place,
                        f"{query.name} can't be paused while {other.name} runs: both use the topic {topic}, in which "
                        f"the job has one position. Pause or resume both, or write TERMINATE {query.name}",
                    )
