"""Runs the operations of random sequences on a store."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from forebay.testing.bench import Bench


def run(store: Any, bench: Bench, name: str, *arguments: Any) -> Any:
    """Run an operation. Return its result, with iterators as lists.

    The operation `commit` writes to the table and clears the cache. `undo` puts and rolls back. Others are methods.
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
