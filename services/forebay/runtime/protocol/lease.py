"""Leases, by which the driver assigns task groups to workers for one Spark batch."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any

from forebay.runtime.errors import StateConflict

FORMAT = 2
"""Format of the offsets in Spark's checkpoint."""

ROW_FORMAT = 3
"""Format of a lease's row. Rows of format 2 hold the offsets of all partitions of the job, and no format number."""

OTHER_RELEASE = (
    "the checkpoint was written by another release: move it away, and `forebay run --restore` makes one from the "
    "changelogs, with everything that was committed"
)

Partitioned = dict[str, tuple[int, ...]]
"""One offset per partition, by topic."""

Offsets = tuple[int, ...] | Mapping[int, int]
"""Offsets of a topic: of all its partitions, or of a group's own partitions, by partition."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One Spark batch of one task group.

    Args:
        checkpoint: id of the checkpoint, created at the first start.
        number: number of the Spark batch, from 1; part of the source's offsets.
        group: the group's number.
        groups: number of groups, fixed at the first start.
        tasks: number of state tasks, fixed at the first start.
        planned_at: wall clock of the driver in ms. A command to end leases applies to those planned before it.
        start: offsets at which tasks without commits begin. It holds at least the group's partitions.
        until: end offsets of the same partitions, at which the job ends by itself; None: the job continues.
        topic_ids: the broker's ids of the changelogs. Local copies of tables must be of these topics.
        restore: whether state is read from changelogs that another checkpoint wrote.
        restore_only: whether the job ends once it has its state.
        close_until: time (ms) to which closing times advance before the job ends; -1: none.
    """

    checkpoint: str
    number: int
    group: int
    groups: int
    tasks: int
    planned_at: int
    start: Mapping[str, Offsets]
    until: Mapping[str, Offsets] | None = None
    topic_ids: Mapping[str, str] | None = None
    restore: bool = False
    restore_only: bool = False
    close_until: int = -1

    @property
    def numbers(self) -> range:
        """Numbers of the group's tasks."""
        # Round robin: with more tasks than groups, their numbers differ by one at most.
        return range(self.group, self.tasks, self.groups)

    @property
    def token(self) -> int:
        """A number that no other lease of the job has, under any checkpoint; never 0."""
        # In another checkpoint, batch numbers begin at 1 again, and positions keep `done` through a restore. By the
        # number alone, a sender could count as done in a lease in which it has not run.
        return _digest(self.checkpoint) << 32 | self.number

    @property
    def topics(self) -> str:
        """Digest of the topics that the lease was planned for; "" if the lease has ends, which no topic changes."""
        # The ends of such a lease are fixed, so a changed topic must not end it. Otherwise the run would report unread
        # records.
        if self.until is not None:
            return ""
        # A group has the partitions of its tasks, and all partitions of a global table. All tasks have equally many.
        counts = {
            topic: len(offsets) if isinstance(offsets, tuple) else len(offsets) * self.tasks // len(self.numbers)
            for topic, offsets in self.start.items()
        }
        return digest_topics(self.topic_ids or {}, counts)

    def to_json(self) -> str:
        """Return the lease as the row of the source."""
        # Release 0.2 does not know the field "v", and fails. Otherwise it would read a map of offsets as a list of
        # partitions.
        return json.dumps({"v": ROW_FORMAT, **asdict(self)}, separators=(",", ":"), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Lease:
        """Read a source row, of this format or of release 0.2. Raises StateConflict."""
        fields: dict[str, Any] = json.loads(text)
        version = fields.pop("v", 2)
        if version not in (2, ROW_FORMAT):
            raise StateConflict(
                f"the driver's leases have format {version}, this worker reads formats 2 and {ROW_FORMAT}: use the "
                "same image for driver and executors"
            )
        fields["start"] = _offsets(fields["start"])
        fields["until"] = None if fields["until"] is None else _offsets(fields["until"])
        # An unknown field of a newer release raises TypeError here, because a worker must not run a lease without
        # regard to it.
        lease = cls(**fields)
        assert 0 <= lease.group < lease.groups, f"lease {lease.number} is of group {lease.group}, which does not exist"
        return lease


@dataclass(frozen=True, slots=True)
class LeaseOffset:
    """The source's offset in Spark's checkpoint: the number of the last lease, and the fields that all groups share.

    Args:
        topic_ids: the broker's ids of inputs and changelogs. The other fields are those of `Lease`.
    """

    checkpoint: str
    number: int
    groups: int
    tasks: int
    planned_at: int
    start: Partitioned
    topic_ids: Mapping[str, str]
    until: Partitioned | None = None
    restore: bool = False
    restore_only: bool = False
    close_until: int = -1

    def to_json(self) -> dict[str, Any]:
        """Return the offset as Spark stores it. Keys are always in the same order, because Spark compares the text."""
        fields = {"v": FORMAT, **asdict(self)}
        fields["topic_ids"] = dict(sorted(self.topic_ids.items()))
        for name in ("start", "until"):
            ends = fields[name]
            fields[name] = None if ends is None else {topic: list(ends[topic]) for topic in sorted(ends)}
        return fields

    @classmethod
    def from_json(cls, offset: Mapping[str, Any]) -> LeaseOffset | None:
        """Read an offset; return None for the sentinel before the first lease. Raises StateConflict."""
        if offset == SENTINEL:
            return None
        fields = dict(offset)
        if fields.pop("v", None) != FORMAT:
            raise StateConflict(OTHER_RELEASE)
        fields["start"] = _tuples(fields["start"])
        fields["until"] = None if fields["until"] is None else _tuples(fields["until"])
        return cls(**fields)

    def leases(self, whole: Collection[str] = frozenset()) -> list[Lease]:
        """Return the lease of every group, each with the offsets of the group's partitions.

        Args:
            whole: topics of global tables, of which every group reads all partitions.
        """
        leases = [
            Lease(
                self.checkpoint,
                self.number,
                group,
                self.groups,
                self.tasks,
                self.planned_at,
                self._of_group(self.start, group, whole),
                None if self.until is None else self._of_group(self.until, group, whole),
                self.topic_ids,
                self.restore,
                self.restore_only,
                self.close_until,
            )
            for group in range(self.groups)
        ]
        # Asserted when leases are created and (per lease) when they are read, because a task in two groups would have
        # two owners, and no fencing between them.
        numbers = sorted(number for lease in leases for number in lease.numbers)
        assert numbers == list(range(self.tasks)), f"lease {self.number} does not give each task to one group"
        return leases

    def _of_group(self, offsets: Partitioned, group: int, whole: Collection[str]) -> dict[str, Offsets]:
        numbers = range(group, self.tasks, self.groups)
        shares: dict[str, Offsets] = {}
        for topic, ends in offsets.items():
            # Partition p belongs to task p % tasks. If an input grows to a multiple of its partitions, its keys
            # therefore stay with their task.
            own = (partition for number in numbers for partition in range(number, len(ends), self.tasks))
            shares[topic] = ends if topic in whole else {partition: ends[partition] for partition in own}
        return shares


SENTINEL: dict[str, Any] = {"v": FORMAT, "start": None}
"""The offset before the first lease. Spark asks for it again when that lease is replayed, so it must never change."""


def digest_topics(ids: Mapping[str, str], partitions: Mapping[str, int]) -> str:
    """Return a digest that changes with topic ids, and with the numbers of partitions of the topics that are read."""
    text = json.dumps([dict(ids), dict(partitions)], sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@cache
def _digest(checkpoint: str) -> int:
    return int.from_bytes(hashlib.blake2b(checkpoint.encode(), digest_size=4).digest(), "big")


def partitions(offsets: Offsets) -> Collection[int]:
    """Return the partitions whose offsets these are."""
    return range(len(offsets)) if isinstance(offsets, tuple) else offsets.keys()


def _tuples(ends: Mapping[str, Any]) -> Partitioned:
    return {topic: tuple(values) for topic, values in ends.items()}


def _offsets(topics: Mapping[str, Any]) -> dict[str, Offsets]:
    return {
        topic: tuple(offsets) if isinstance(offsets, list) else {int(part): at for part, at in offsets.items()}
        for topic, offsets in topics.items()
    }
