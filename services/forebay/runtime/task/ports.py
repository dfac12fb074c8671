"""Interfaces of a task group to the worker around it: reader, producer and broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.snapshot_mark import SnapshotMark
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.tail import Tail


class Reader(Protocol):
    """Reads records into the inputs of a group's tasks (see `reader.GroupReader`)."""

    bytes: int

    def assign(self, inputs: Iterable[TaskInput]) -> None: ...

    def read(self, seconds: float, most: int) -> int: ...

    def balance(self, inputs: Iterable[TaskInput]) -> None: ...

    def has_all(self, item: TaskInput) -> bool: ...

    def look(self) -> None: ...

    def seen_ends(self) -> dict[tuple[str, int], int]: ...

    def written_ends(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]: ...

    def close(self) -> None: ...


class Committer(Protocol):
    """Commits for a group (see `transaction.GroupProducer`)."""

    @property
    def is_open(self) -> bool: ...

    def fence(self) -> None: ...

    def commit(
        self,
        commits: Sequence[TaskCommit],
        marked: Sequence[TaskPosition] = (),
        marks: Sequence[SnapshotMark] = (),
    ) -> None: ...

    def discard(self) -> None: ...


class Surroundings(Protocol):
    """Requests of a group to the broker, in addition to those of its reader and producer."""

    def markers(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], str]:
        """Return the metadata last committed to the marker group, even during a transaction. Raises Unavailable."""
        ...

    def read_tails(self, tails: list[Tail]) -> None:
        """Read tails to the last stable offsets of their changelogs (see `tails.read_tails`)."""
        ...

    def former(self, number: int) -> list[Tail]:
        """Return the tails of internal changelogs without a sub-topology, for the task of this number."""
        ...

    def ends(self, places: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """Return the last stable offsets. Raises Unavailable."""
        ...

    def inputs(self, place: tuple[int, int], lease: Lease, position: TaskPosition) -> TaskInput:
        """Return a task's input, which begins at its position."""
        ...

    def check_topics(self, lease: Lease) -> None:
        """Check that the input topics are those of the lease. Raises TopicChanged, Unavailable."""
        ...

    def purge(self, ends: dict[tuple[str, int], int]) -> None:
        """Request the deletion of repartition records before these offsets, without waiting for it."""
        ...
