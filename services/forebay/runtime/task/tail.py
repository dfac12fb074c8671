"""The tails of changelogs: the commits after a snapshot, which complete the table that was filled from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.stores.kinds import recorded_formats
from forebay.stores.table import Table

FETCH = 10_000
"""Records that are read at once."""

_MOST_WAITING = 250_000
# No commit has this tag, so the table of an interrupted replay is never mistaken for a complete one.
_READING = b"reading"
_REPLACED_MS = 600_000
"""How much younger (ms) a mark may be that replaced the snapshot's own: some attempts to write a snapshot."""


@dataclass(slots=True)
class Tail:
    """The tail of one task's changelogs: its offsets, and the rows and the position that were read.

    Args:
        table: the table that is completed.
        offsets: by topic: where reading begins, and later where it ended. Missing topics are read from the beginning.
        keys: keys of the rows that were read.
        position: the last position that was read; None if none was.
    """

    name: str
    rows: ChangelogRows
    number: int
    table: Table
    offsets: dict[str, int]
    keys: dict[bytes, None] = field(default_factory=dict)
    position: TaskPosition | None = None
    waiting: dict[bytes, bytes | None] = field(default_factory=dict)
    """Rows that were read and not applied yet."""
    newest: bytes | None = None
    """The last position as it was read."""
    begins: dict[str, int] = field(init=False)
    """Offsets at which reading began."""
    mark: int = -1
    """Number of the snapshot's mark, which must be in each changelog (see `snapshot_mark`); -1: it has none."""
    marked: set[str] = field(default_factory=set)
    """Changelogs in which the mark was found."""

    def __post_init__(self) -> None:
        self.begins = dict(self.offsets)

    def take(self, topic: str, key: bytes, value: bytes | None, timestamp: int) -> None:
        """Add a record of a changelog (`timestamp` in ms)."""
        if key == POSITION:
            self.newest = value or self.newest
            return
        row, data = self.rows.row(topic, key, value, timestamp)
        self.waiting[row] = data

    def found_mark(self, topic: str, number: int) -> None:
        """Record a mark that was read from a changelog.

        A mark replaces the previous one, which compaction then removes, although the newer mark's own snapshot may
        never have been stored. Therefore a mark that is slightly younger than this snapshot's counts, too: it does not
        prove the deletes between the two marks, but these are hardly older than itself.
        """
        if self.mark <= number <= self.mark + _REPLACED_MS:
            self.marked.add(topic)

    @property
    def is_forward(self) -> bool:
        """Whether no changelog ends before the offset at which reading it began."""
        return all(self.offsets.get(topic, 0) >= begin for topic, begin in self.begins.items())

    @property
    def may_lack_deletes(self) -> bool:
        """Whether deletes of rows that the table holds may be gone from the changelogs."""
        if self.mark < 0:
            return False
        # A changelog that ends where reading began has no records since then, so no delete can be gone.
        read = (topic for topic in self.rows.topics if self.offsets.get(topic, 0) > self.begins.get(topic, 0))
        return not self.marked.issuperset(read)

    @property
    def waits(self) -> bool:
        """Whether enough rows wait to be applied: a sorted table merges a quarter of its size at less cost per row."""
        return len(self.waiting) >= max(FETCH, min(_MOST_WAITING, len(self.table) // 4))

    def apply(self) -> None:
        """Apply the rows that wait."""
        if self.waiting:
            self.table.apply(self.waiting.items(), _READING)
            self.keys.update(dict.fromkeys(self.waiting))
            self.waiting.clear()

    def corrects_formats(self) -> bool:
        """Switch to the store formats that the table records; return whether records were read in other formats.

        A record does not contain its store's format, and a conversion changes the format in the middle of a changelog.
        The converting commit rewrites or deletes every row of the store, and records the new declaration. Therefore
        all records that count in the end have the format that was recorded last. The records before the conversion are
        overwritten, regardless of the format they are read in.
        """
        read = self.rows
        self.rows = read.of_formats(recorded_formats(self.table, read.stores))
        return not self.rows.reads_like(read)

    def finish(self) -> None:
        """Apply the remaining rows and decode the last position."""
        self.apply()
        if self.newest is not None:
            self.position = TaskPosition.from_json(self.newest)


def complete_tail(
    name: str,
    tail: Tail,
    snapshot: TaskPosition | None,
    checkpoint: str,
    restore: bool,
) -> TaskPosition | None:
    """Return a task's position after its tail was read; None if the task never committed.

    Args:
        snapshot: position of the snapshot that filled the table; None: there was none.
        checkpoint: id of the checkpoint that runs.
        restore: whether state of another checkpoint is taken over.

    Raises:
        StateConflict: the changelogs are of another checkpoint, or older than the snapshot.
    """
    assert tail.is_forward, f"{name}: a changelog ends before the offset at which reading it began"
    position = tail.position or snapshot
    if position is None:
        # A table with rows and no position would be continued from the inputs' beginnings, and every record would count
        # twice.
        if len(tail.table):
            raise StateConflict(
                f"{name}: the changelogs hold rows, but the internal changelog has no position for them: it "
                "was deleted or created again. Restore it, or start over with `forebay reset`"
            )
        return None
    # The marker group is checked before fencing, but only a changelog is proof: the group may have been deleted.
    if position.checkpoint != checkpoint and not restore:
        raise StateConflict(foreign(name, position.checkpoint, checkpoint))
    if snapshot is not None and position.n < snapshot.n and position.checkpoint == snapshot.checkpoint:
        raise StateConflict(
            f"{name}: the changelogs are at commit {position.n}, the checkpoint's snapshot at {snapshot.n}: the topics "
            "are older than the checkpoint. Restore topics and checkpoint of the same time; or move the "
            "checkpoint away, and `forebay run --restore` continues from the changelogs"
        )
    return position


def foreign(name: str, found: str, checkpoint: str) -> str:
    """Return the error message for a task whose last commit belongs to another checkpoint."""
    return (
        f"{name}: its last commit belongs to checkpoint {found}, but checkpoint {checkpoint} is running: the "
        "checkpoint was deleted or replaced, or another job runs under the same application id. Put the old checkpoint "
        "back; or delete this one, and `forebay run --restore` rebuilds it from the changelogs; or give this job "
        "another application id, or `forebay reset` forgets its state"
    )
