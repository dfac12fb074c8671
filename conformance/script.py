"""A case as a script: steps that run one per batch, and what they were expected to give."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from conformance.cases import Difference
from forebay.stores.binding import Store
from forebay.testing.cell import Json, Keys

S = TypeVar("S", bound=Store[Any])


class Stores(Protocol):
    """Where a script gets its stores."""

    def open(self, declared: S) -> S:
        """Return the declared store, ready for use."""
        ...


class Declarations:
    """Replaces stores when a script is only inspected; collects the stores that it declares, by name."""

    def __init__(self) -> None:
        self.stores: dict[str, Store[Any]] = {}

    def open(self, declared: S) -> S:
        """Return the store as it was declared: it has no rows."""
        self.stores[declared.name] = declared
        return declared


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a step gave, or the error (class and text) that undid it."""

    value: Json = None
    error: str = ""
    text: str = ""


class Script(abc.ABC):
    """The steps of one case. Everything wrong with the case itself is found when it is made.

    A script may be recreated before any step, so all state that it needs is in its stores or in its memory.
    """

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.keys = Keys()

    @abc.abstractmethod
    def steps(self) -> int:
        """Count the steps."""

    def batches(self) -> list[range]:
        """Return the steps that may share a batch where batches are dear; by default each is one of its own."""
        return [range(step, step + 1) for step in range(self.steps())]

    @abc.abstractmethod
    def run(self, index: int) -> Json:
        """Run one step, give what came of it. Raises NullKeyError."""

    @abc.abstractmethod
    def differences(self, outcomes: Sequence[Outcome]) -> Iterator[Difference]:
        """Compare the steps' outcomes with what the case expects; works without stores."""

    def memory(self) -> dict[str, Json]:
        """Return the state that the next step needs in addition to the stores."""
        return {"keys": self.keys.memory()}

    def remember(self, memory: dict[str, Json]) -> None:
        """Take over the memory of the step before."""
        self.keys.remember(memory["keys"])
