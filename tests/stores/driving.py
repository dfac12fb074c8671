"""Runs one operation of a random sequence on a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.testing.bench import Bench


def run(store: Any, bench: Bench, name: str, *arguments: Any) -> Any:
    """Return the result of the operation, iterators as lists.

    `commit` writes to the table and drops everything held in memory; `undo` puts, and rolls back.
    """
    if name == "commit":
        bench.commit()
        return None
    if name == "undo":
        bench.journal.commit()
        store.put(*arguments)
        bench.roll_back()
        return None
    result = getattr(store, name)(*arguments)
    return list(result) if isinstance(result, Iterator) else result
