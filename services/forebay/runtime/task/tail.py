"""Completes tables by the tails of their changelogs: what was committed since the snapshots they come from."""

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
# No commit has this tag. If a replay is interrupted, nothing takes the table for a complete one.
_READING = b"reading"
_REPLACED_MS = 600_000
"""How much younger a mark may be that replaced the snapshot's own: some attempts to write a snapshot."""


@dataclass(slots=True)
class Tail:
    """One task's tail: where it begins, and what was found.

    Args:
        table: brought up to date.
        offsets: by topic, where reading begins and then where it ended; from the beginning where a topic is missing.
        keys: of the rows found.
        position: the last position read so far; None: none yet.
    """

    name: str
    rows: ChangelogRows
    number: int
    table: Table
    offsets: dict[str, int]
    keys: dict[bytes, None] = field(default_factory=dict)
    position: TaskPosition | None = None
    waiting: dict[bytes, bytes | None] = field(default_factory=dict)
    """Rows read and not applied yet."""
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
        """Take in a record of a changelog (`timestamp` in ms)."""
        if key == POSITION:
            self.newest = value or self.newest
            return
        row, data = self.rows.row(topic, key, value, timestamp)
        self.waiting[row] = data

    def found_mark(self, topic: str, number: int) -> None:
        """Take in a mark of a changelog.

        A mark replaces the one before, of which compaction then leaves nothing, and the snapshot that it was written
        for may not have been stored. If it is little younger than ours, so are the deletes that only ours proves.
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
        # A changelog that ends where it began holds nothing that could have been deleted since.
        read = (topic for topic in self.rows.topics if self.offsets.get(topic, 0) > self.begins.get(topic, 0))
        return not self.marked.issuperset(read)

    @property
    def waits(self) -> bool:
        """Whether it pays to apply: a table in order takes a quarter of its own rows for less than a few."""
        return len(self.waiting) >= max(FETCH, min(_MOST_WAITING, len(self.table) // 4))

    def apply(self) -> None:
        """Apply what waits."""
        if self.waiting:
            self.table.apply(self.waiting.items(), _READING)
            self.keys.update(dict.fromkeys(self.waiting))
            self.waiting.clear()

    def corrects_formats(self) -> bool:
        """Return whether records were read in another format than the rows have; from now on they are read in theirs.

        A record of a store does not say its format, and a conversion changes the format in the middle of a changelog.
        The converting commit writes every row of the store again, or deletes it, and records the new declaration. So
        the declaration that is recorded last is the format of every record that counts in the end, and the records
        before the conversion are overwritten, in any format they are read in.
        """
        read = self.rows
        self.rows = read.of_formats(recorded_formats(self.table, read.stores))
        return not self.rows.reads_like(read)

    def finish(self) -> None:
        """Apply what is left; say where the task stands."""
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
    """Return where a task stands after its tail was read; None for one that never committed.

    Args:
        snapshot: where the snapshot stood that the table was filled from; None: there was none.
        checkpoint: that runs.
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
    """Return what to say of a task that another checkpoint's job committed."""
    return (
        f"{name}: its last commit belongs to checkpoint {found}, but checkpoint {checkpoint} is running: the "
        "checkpoint was deleted or replaced, or another job runs under the same application id. Put the old checkpoint "
        "back; or delete this one, and `forebay run --restore` rebuilds it from the changelogs; or give this job "
        "another application id, or `forebay reset` forgets its state"
    )
