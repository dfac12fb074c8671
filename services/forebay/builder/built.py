"""A job's topology, built once per process: all tasks of all sub-topologies run from the same one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.builder.components import Component, components

if TYPE_CHECKING:
    from forebay.builder.topology import Topology


class BuiltTopology:
    """Builds a topology when it is first asked for, and again if it is asked for with other settings.

    A worker makes a processor for each sub-topology and task. To build the topology for each of them would take time in
    proportion to the square of its statements.

    Args:
        build: makes the topology of the service's settings.
        matched: topics by the pattern that they match.
    """

    def __init__(self, build: Callable[[Any], Topology], matched: Mapping[str, Sequence[str]]) -> None:
        self._build, self._matched = build, matched
        self._lock = threading.Lock()  # several groups of a worker may open at the same time
        self._made: list[tuple[Any, Topology, tuple[Component, ...], SharedFigures]] = []

    def topology(self, settings: Any) -> Topology:
        """Return the topology."""
        return self._of(settings)[0]

    def components(self, settings: Any) -> tuple[Component, ...]:
        """Return its sub-topologies. Raises TopologyError: they send to each other in a circle."""
        return self._of(settings)[1]

    def processor(self, number: int, settings: Any) -> CompiledSubTopology:
        """Return a task's processor of a sub-topology."""
        topology, parts, figures = self._of(settings)
        return CompiledSubTopology(parts[number], topology.close_idle_after_ms, figures.of_one())

    def _of(self, settings: Any) -> tuple[Topology, tuple[Component, ...], SharedFigures]:
        with self._lock:
            if not self._made or self._made[0][0] != settings:
                topology = self._build(settings)
                topology.graph.match(self._matched)
                self._made = [(settings, topology, components(topology.graph), SharedFigures(topology.figures))]
            return self._made[0][1:]


class SharedFigures:
    """What the functions of a topology count, given to its tasks so that their sum is right.

    Args:
        total: gives the counts of all tasks.
    """

    def __init__(self, total: Callable[[], Mapping[str, float]]) -> None:
        self._total = total
        self._given: dict[str, float] = {}
        self._lock = threading.Lock()

    def of_one(self) -> Callable[[], Mapping[str, float]]:
        """Return what gives one task's part: what was counted since any task was asked last is added to it."""
        own: dict[str, float] = {}

        def figures() -> Mapping[str, float]:
            with self._lock:
                for name, value in self._total().items():
                    more = value - self._given.get(name, 0.0)
                    if more:
                        own[name] = own.get(name, 0.0) + more
                        self._given[name] = value
            return own

        return figures
