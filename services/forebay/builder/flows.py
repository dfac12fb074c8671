"""Flows that pass a node's elements to its successors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from forebay.builder.nodes import Flow
from forebay.processor.api import Context


class ElementCount:
    """The number of elements that passed from one step to another."""

    __slots__ = ("elements",)

    def __init__(self) -> None:
        self.elements = 0

    def before(self, target: Flow) -> Flow:
        """Return a flow that counts the elements and passes them on."""

        def flow(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
            self.elements += 1
            target(key, value, timestamp, ctx)

        return flow


def to_all(targets: Sequence[Flow]) -> Flow:
    """Return a flow that passes each element to all targets, in order."""
    # The common case. A loop over one target would cost every record a call at every node.
    if len(targets) == 1:
        return targets[0]

    def every(key: Any, value: Any, timestamp: int, ctx: Context[Any]) -> None:
        for target in targets:
            target(key, value, timestamp, ctx)

    return every if targets else nowhere


def nowhere(_key: Any, _value: Any, _timestamp: int, _ctx: Context[Any]) -> None:
    """Ignore an element of a node without successors."""


def only_latest(target: Flow) -> Flow:
    """Return a flow that passes only changes that are the latest of their key."""

    def flow(key: Any, change: Any, timestamp: int, ctx: Context[Any]) -> None:
        if change.is_latest:
            target(key, change, timestamp, ctx)

    return flow
