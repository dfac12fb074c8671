"""Conversion of the values that reach a node with stores to the form that its stores return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from forebay.builder.nodes import Flow, Kind, Node
from forebay.codec import canonical_of
from forebay.formats import Format, no_contracts
from forebay.operators.table import Change
from forebay.processor.api import Context


def receiving(parent: Node, node: Node, flow: Flow) -> Flow:
    """Return a node's flow for the elements of `parent`. A node with stores receives values in the form of its stores.

    Without this, a join would see a list in an arriving record but a tuple in the same record read from its buffer.
    """
    # Records of topics and repartitions were just decoded, so they already have the form that a store reads.
    if not node.stores or parent.kind is not Kind.STEP:
        return flow
    canonical = _canonical(parent.value)
    if canonical is None:
        return flow

    def read_back(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        if value.__class__ is Change:
            new = None if value.new is None else canonical(value.new)
            old = None if value.old is None else canonical(value.old)
            value = value._replace(new=new, old=old)
        elif value is not None:
            value = canonical(value)
        flow(key, value, timestamp, ctx)

    return read_back


def _canonical(kind: Format[Any]) -> Callable[[Any], Any] | None:
    try:
        return canonical_of(kind.codec(no_contracts))
    except TypeError:
        # The format has a contract. Its records are immutable and equal to those that are read back.
        return None
