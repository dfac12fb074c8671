"""Places of a topology: inputs and stores of their tasks, contents of their internal changelogs, and moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from forebay.processor.timers import HasTimer
from forebay.runtime.protocol.position import TaskPosition
from forebay.stores.internal import KINDS
from forebay.stores.table import Change

Partition = tuple[str, int]
"""A topic, and the number of one of its partitions."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Inputs and stores of a task of the current topology.

    Args:
        identity: name of its sub-topology.
        partitions: partitions that it reads, except those of global tables.
        whole: topics of the global tables that it reads.
        stores: names of its stores.
        global_stores: the topics in `whole`, each with the name of its store.
        has_timer: returns whether the task sets a timer of a name; None if it may set any timer.
    """

    identity: str
    partitions: frozenset[Partition]
    whole: frozenset[str]
    stores: frozenset[str]
    global_stores: frozenset[tuple[str, str]] = frozenset()
    has_timer: HasTimer | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """Contents of an internal changelog.

    Args:
        position: the last position, or None.
        scan: returns the internal rows whose keys begin with a prefix.
    """

    position: TaskPosition | None
    scan: Callable[[bytes], Iterable[tuple[bytes, bytes]]]

    @property
    def ends(self) -> dict[Partition, int]:
        """The offsets of its position."""
        return {} if self.position is None else {(topic, number): end for topic, number, end in self.position.ends}

    @property
    def name(self) -> str:
        """Name of the sub-topology that wrote it; "" if unknown."""
        return "" if self.position is None else self.position.sub_topology

    def has_record(self, store: str) -> bool:
        """Return whether the format of a store is recorded here."""
        record = KINDS + store.encode()
        return any(key == record for key, _ in self.scan(record))


@dataclass(slots=True)
class Move:
    """The changes to commit for one place.

    Args:
        position: new position of its task.
        origins: places whose sub-topologies its task continues.
        changes: changes of its internal rows.
    """

    position: TaskPosition
    origins: tuple[int, ...] = ()
    changes: list[Change] = field(default_factory=list)
