"""Places of a topology: what the tasks there read and keep, what their internal changelogs hold, what has to move."""

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
    """What a task of the topology as it is declared reads and keeps.

    Args:
        identity: of its sub-topology.
        partitions: those it reads, without those of global tables.
        whole: topics of the global tables that it reads.
        stores: names of its stores.
        global_stores: the topics in `whole`, each with the name of its store.
        has_timer: recognizes its timers by their names; None if it may set any timer.
    """

    identity: str
    partitions: frozenset[Partition]
    whole: frozenset[str]
    stores: frozenset[str]
    global_stores: frozenset[tuple[str, str]] = frozenset()
    has_timer: HasTimer | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What an internal changelog holds.

    Args:
        position: the last position, or None.
        scan: gives the internal rows whose keys begin with a prefix.
    """

    position: TaskPosition | None
    scan: Callable[[bytes], Iterable[tuple[bytes, bytes]]]

    @property
    def ends(self) -> dict[Partition, int]:
        """The offsets of its position."""
        return {} if self.position is None else {(topic, number): end for topic, number, end in self.position.ends}

    @property
    def name(self) -> str:
        """Name of the sub-topology that wrote it; "" if that is not known."""
        return "" if self.position is None else self.position.sub_topology

    def has_record(self, store: str) -> bool:
        """Return whether the format of a store is recorded here."""
        record = KINDS + store.encode()
        return any(key == record for key, _ in self.scan(record))


@dataclass(slots=True)
class Move:
    """What has to be committed for one place.

    Args:
        position: where its task stands from now on.
        origins: places that it comes from.
        changes: of its internal rows.
    """

    position: TaskPosition
    origins: tuple[int, ...] = ()
    changes: list[Change] = field(default_factory=list)
