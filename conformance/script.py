"""Cases as scripts, which have steps and their expected outcomes."""

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
    """The stores of a script."""

    def open(self, declared: S) -> S:
        """Return the declared store, bound to a table."""
        ...


class Declarations:
    """Stores for the inspection of a script, which only collect its declared stores by name."""

    def __init__(self) -> None:
        self.stores: dict[str, Store[Any]] = {}

    def open(self, declared: S) -> S:
        """Return the declared store, which is not bound to a table."""
        self.stores[declared.name] = declared
        return declared


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a step, or the class and text of the error that undid the step."""

    value: Json = None
    error: str = ""
    text: str = ""


class Script(abc.ABC):
    """The steps of a case. If the case is invalid, the constructor raises BadCase.

    A script may be recreated before each step, so all of its state must be in its stores or in its memory.
    """

    def __init__(self, stores: Stores) -> None:
        self.stores = stores
        self.keys = Keys()

    @abc.abstractmethod
    def steps(self) -> int:
        """Return the number of steps."""

    def batches(self) -> list[range]:
        """Return ranges of steps that may share a commit if commits are slow. By default, each step has its own."""
        return [range(step, step + 1) for step in range(self.steps())]

    @abc.abstractmethod
    def run(self, index: int) -> Json:
        """Run a step, and return its result. Raises NullKeyError."""

    @abc.abstractmethod
    def differences(self, outcomes: Sequence[Outcome]) -> Iterator[Difference]:
        """Yield the differences between the outcomes of the steps and the expected outcomes. Stores are not needed."""

    def memory(self) -> dict[str, Json]:
        """Return the state that the next step needs in addition to the stores."""
        return {"keys": self.keys.memory()}

    def remember(self, memory: dict[str, Json]) -> None:
        """Set the memory to that of the previous step."""
        self.keys.remember(memory["keys"])
