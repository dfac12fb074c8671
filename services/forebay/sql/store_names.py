"""Names of the stores of a program's queries, and of those whose query was dropped or terminated."""

from __future__ import annotations

import re
from collections.abc import Callable

from forebay.sql.plan import RETURNS, label_of
from forebay.sql.program import Program


def base_of(text: str) -> str:
    """Return the name of a store or a repartition topic for a text that begins with a label."""
    return re.sub(rf"[^a-z0-9{RETURNS}]+", "-", text.lower()).strip("-").replace(RETURNS, ".")


def has_ended(program: Program) -> Callable[[str], bool] | None:
    """Return a function that returns whether a store belonged to a query that was dropped or terminated.

    Another query with its name has another label, so it begins with new stores. The store of a declared table does not
    end, because the table can be declared again. None: no query has ended.
    """
    if not any(program.ended.values()):
        return None
    ended = {base_of(label_of(label, before)) for label, count in program.ended.items() for before in range(count)}
    sources = {source.name for source in program.catalog} | program.ended.keys()
    lasting = {base_of(query.label) for query in (*program.queries, *program.waiting)}
    lasting |= {base_of(name) for name in sources} - ended
    lasting |= {base_of(table_of(name)) for name in sources}
    labels = ended | lasting

    def is_of_ended(store: str) -> bool:
        # The longest label that fits is the store's, because names of results may begin with those of others.
        parts = store.split("-")
        starts = ("-".join(parts[:count]) for count in range(len(parts), 0, -1))
        label = next((start for start in starts if start in labels), None)
        return label in ended and label not in lasting

    return is_of_ended


def table_of(source: str) -> str:
    """Return the text from which the name of the store with a declared table's rows is made."""
    return f"{source} table"
