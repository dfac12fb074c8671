"""A job's topology, from which each task's processors are created."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from forebay.builder.compiled import CompiledSubTopology
from forebay.builder.components import Component, components
from forebay.job import NewInEachCall

if TYPE_CHECKING:
    from forebay.builder.topology import Topology


class BuiltTopology:
    """Builder of a job's topology, for each sub-topology of each task or once for all of them.

    A user's functions may hold state, which must belong to one task. Generated functions hold none, so a file of N
    statements is built once per process instead of N times per task.

    Args:
        build: Function of the service's settings that returns the topology.
        matched: Topics by the pattern that they match.
        is_shared: Whether all tasks of a process share one topology.
    """

    def __init__(
        self, build: Callable[[Any], Topology], matched: Mapping[str, Sequence[str]], *, is_shared: bool
    ) -> None:
        self._build, self._matched, self._is_shared = build, matched, is_shared
        self._lock = threading.Lock()  # several groups of a worker may open at the same time
        self._shared: list[tuple[Any, Topology, tuple[Component, ...]]] = []

    def build(self, settings: Any) -> tuple[Topology, tuple[Component, ...]]:
        """Return the topology and its sub-topologies. Raise TopologyError if the sub-topologies form a cycle."""
        with self._lock:
            # Without this, each task would build all statements of the file again.
            if not self._is_shared or not self._shared or self._shared[0][0] != settings:
                topology = self._build(settings)
                topology.graph.match(self._matched)
                self._shared = [(settings, topology, components(topology.graph))]
            return self._shared[0][1:]


class BuiltLogic(NewInEachCall):
    """Function that creates each task's processor of one sub-topology."""

    def __init__(self, built: BuiltTopology, number: int) -> None:
        self._built, self._number = built, number

    def __call__(self, settings: Any) -> CompiledSubTopology:
        topology, parts = self._built.build(settings)
        return CompiledSubTopology(
            parts[self._number], topology.close_idle_after_ms, topology.figures, topology.has_ended
        )
