"""What a state task needs of the outside: records in, one transaction out, a place for its state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from forebay.processor.engine import BatchResult
from forebay.processor.messages import Message
from forebay.runtime.batch import Range
from forebay.runtime.committed import CommittedPosition
from forebay.runtime.marker import Marker
from forebay.stores.blocklog import BlockStorage
from forebay.stores.table import Table


class Input(Protocol):
    """Reads offset ranges."""

    def read(self, ranges: Sequence[Range]) -> list[Iterator[Message]]:
        """Give one stream per range. Raises OffsetsLost, Unavailable (also while a stream is read)."""
        ...


class Sink(Protocol):
    """Commits a batch's records and its marker in one transaction."""

    def marker(self, job: str, batch: int, take_over: bool = False) -> Marker | None:
        """Give the marker last committed, having fenced off every other writer of this task.

        A marker of another job than `job`, or of a batch after `batch`, is given without fencing anybody, since whoever
        wrote it may be alive; unless this one is to take over.
        """
        ...

    def commit(self, result: BatchResult, ranges: Sequence[Range], marker: Marker) -> None:
        """Send everything in one transaction. Raises Unavailable; nothing is visible then."""
        ...

    def discard(self) -> None:
        """Give up what the last attempt left behind: the next call of `marker` starts afresh."""
        ...


class Changelog(Protocol):
    """What the topics say of one task."""

    def restore(self, table: Table) -> CommittedPosition | None:
        """Fill `table` with the task's rows; give where they stand, None for a task that never committed.

        Raises:
            StateConflict: the changelogs don't say where they stand. Unavailable.
        """
        ...


class StateStorage(BlockStorage, Protocol):
    """Where a task's state is kept; writes count only when the whole batch does."""

    def read_state(self) -> bytes | None: ...

    def write_state(self, data: bytes) -> None: ...
