"""A task's position as of its last transaction, in its internal changelog. The task resumes from there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.errorcount import NO_ERRORS, ErrorCount

POSITION = b"\x01position"
"""Key of the one record of the internal changelog that is not a row."""

FORMAT = 2

Ends = tuple[tuple[str, int, int], ...]
"""(topic, partition, offset after the last record used)."""


@dataclass(frozen=True, slots=True)
class SenderTime:
    """The state of a sender of a repartition, as announced up to the records that the reader has used.

    It does not contain whether the sender has caught up, because after a restart there may be records that the sender
    has not read.

    Args:
        sender: the sub-topology and task that forward the records, as `<sub-topology>-<task>`.
        next_offset: offset of its first unused record; -1: the offset from which the partition is read.
        stream_time: in ms. Records that it forwards in order are not older.
        done: token of the lease in which it forwards no more records; 0: none.
    """

    topic: str
    sender: str
    next_offset: int
    stream_time: int
    done: int = 0


@dataclass(frozen=True, slots=True)
class TaskPosition:
    """A task's position, sent with every transaction of the task under POSITION.

    Args:
        checkpoint: id of the checkpoint under which the task runs.
        n: number of the task's commits.
        stream_time, closing_time: in ms.
        code_version: version of library, logic and settings, which is reported and never compared.
        ends: offsets of its input partitions, repartitions included.
        senders: states of the senders of its repartitions.
        recent: how many of the latest records failed.
        groups: number of groups of the job.
        sub_topology: name of the task's sub-topology (see `SubTopology.identity`); "" in positions of a release that
            knew sub-topologies only by number.
        reports: offsets of global tables before which the task reports bad records itself (see `own_reports`).
        global_stores: topics of global tables, each with the name of the store that has its rows up to `ends`; () in
            positions of a release that did not record them.
        formats: digests of the formats of its repartitions' records, by topic (see `RecordFormat`).
        handed_to: in positions of releases that sent records through Spark: the tasks that received any, as bits.
    """

    checkpoint: str
    n: int
    stream_time: int = -1
    closing_time: int = -1
    code_version: str = ""
    ends: Ends = ()
    senders: tuple[SenderTime, ...] = ()
    recent: ErrorCount = NO_ERRORS
    groups: int = 0
    handed_to: int = 0
    sub_topology: str = ""
    reports: Ends = ()
    global_stores: tuple[tuple[str, str], ...] = ()
    formats: tuple[tuple[str, str], ...] = ()

    @property
    def tag(self) -> bytes:
        """Tag of a table that has the rows up to this position."""
        return tag_of(self.checkpoint, self.n, self.sub_topology)

    def to_json(self) -> bytes:
        """Return the record's value."""
        fields: dict[str, Any] = {
            "v": FORMAT,
            "checkpoint": self.checkpoint,
            "n": self.n,
            "s": self.stream_time,
            "c": self.closing_time,
            "code": self.code_version,
            "ends": self.ends,
            # Release 0.2 kept a fifth value, whether the sender had caught up, and reads it.
            "senders": [(s.topic, s.sender, s.next_offset, s.stream_time, 0) for s in self.senders],
            "done": [(s.topic, s.sender, s.done) for s in self.senders if s.done],
            "recent": (self.recent.records, self.recent.errors),
            "groups": self.groups,
            # The field has the name that release 0.2 used, whose positions this release reads.
            "part": self.sub_topology,
        }
        # Absent if empty, because the position is written with every commit, and most jobs have no global tables.
        if self.reports:
            fields["reports"] = self.reports
        if self.global_stores:
            fields["globals"] = self.global_stores
        if self.formats:
            fields["formats"] = self.formats
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_json(cls, data: bytes) -> TaskPosition:
        """Read the record's value, of this release or the one before. Raises StateConflict for anything else."""
        try:
            fields = json.loads(data)
            if "marker" in fields:
                return _of_release_before(fields)
            return cls(
                checkpoint=fields["checkpoint"],
                n=fields["n"],
                stream_time=fields["s"],
                closing_time=fields["c"],
                code_version=fields["code"],
                ends=_ends(fields["ends"]),
                senders=_senders(fields["senders"], fields.get("done", ())),
                recent=ErrorCount(*fields["recent"]),
                groups=fields["groups"],
                sub_topology=fields.get("part", ""),
                reports=_ends(fields.get("reports", ())),
                global_stores=tuple((str(topic), str(store)) for topic, store in fields.get("globals", ())),
                formats=tuple((str(topic), str(digest)) for topic, digest in fields.get("formats", ())),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StateConflict(
                f"the position {data[:200]!r} in an internal changelog was not written by Forebay"
            ) from error

    def metadata(self) -> str:
        """Return the metadata of the committed input offsets: enough to identify their owner."""
        return json.dumps({"v": FORMAT, "checkpoint": self.checkpoint, "n": self.n}, separators=(",", ":"))


def owner(metadata: str) -> tuple[str, int]:
    """Return the checkpoint and number of commits in offset metadata. Raises StateConflict."""
    try:
        fields = json.loads(metadata)
        return (
            (str(fields["checkpoint"]), int(fields["n"]))
            if "n" in fields and "checkpoint" in fields
            else (
                # Metadata of the release before names the checkpoint `job`.
                str(fields["job"]),
                int(fields["n"]),
            )
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StateConflict(
            f"the metadata {metadata[:200]!r} of a job's marker group was not written by Forebay: no other program may "
            "commit offsets to that group. Stop it, delete the group, and start again: the changelogs hold the rest"
        ) from error


def tag_of(checkpoint: str, n: int, sub_topology: str = "") -> bytes:
    """Return the tag of a table that holds the first `n` commits of a sub-topology's task under a checkpoint."""
    # Positions of release 0.2 have no sub-topology, and the tables of that release were tagged without one.
    return n.to_bytes(8, "big") + _digest(f"{checkpoint} {sub_topology}" if sub_topology else checkpoint)


@cache
def _digest(owner: str) -> bytes:
    return hashlib.blake2b(owner.encode(), digest_size=8).digest()


def commits_in(tag: bytes, checkpoint: str, sub_topology: str = "") -> int:
    """Return how many commits a table with this tag holds; -1 if it is not complete, or has another owner."""
    # A table that was only partly filled has a tag of another length, such as that of an unfinished replay.
    if len(tag) != 16 or tag != tag_of(checkpoint, int.from_bytes(tag[:8], "big"), sub_topology):
        return -1
    return int.from_bytes(tag[:8], "big")


def _ends(values: Any) -> Ends:
    return tuple((str(topic), int(partition), int(end)) for topic, partition, end in values)


def _senders(values: Any, done: Any) -> tuple[SenderTime, ...]:
    tokens = {(str(topic), str(sender)): int(token) for topic, sender, token in done}
    return tuple(
        SenderTime(topic, sender, offset, time, tokens.get((topic, sender), 0))
        for topic, sender, offset, time, _ in values
    )


def _of_release_before(fields: Mapping[str, Any]) -> TaskPosition:
    marker = json.loads(fields["marker"])
    closing_time = marker.get("c")
    return TaskPosition(
        checkpoint=marker["job"],
        n=marker["n"],
        stream_time=marker["s"],
        closing_time=-1 if closing_time is None else closing_time,
        code_version=marker["code"],
        ends=_ends(fields["ends"]),
        handed_to=int(marker.get("to", "0"), 16),
    )
