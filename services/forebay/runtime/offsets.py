"""The source's offset: where every input partition stands, and the batch's number and clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from forebay.runtime.batch import Range, TaskBatch
from forebay.runtime.errors import StateConflict

FORMAT = 1


@dataclass(frozen=True, slots=True)
class SourceOffset:
    """One offset of the source, as kept in Spark's checkpoint.

    Args:
        job: identity of the checkpoint, made at first start.
        batch: number n of the batch that ends here; 0 where none ran.
        clock: of that batch, ms; never goes back.
        tasks: number of tasks, fixed at first start.
        state_partitions: number of Spark's state partitions they are spread over, fixed at first start.
        caught_up: whether the ends were the topics' ends at that clock.
        idle_ms: by task: how long its partitions had been idle and read to their ends.
        topic_ids: the broker's ids of the input topics and of the changelogs.
        ends: by topic, the offset after the last one read, by partition.
        restore: whether the batch that ends here takes the tasks' states from their changelogs.
        close_until: time (ms) it moves every task's closing time on to; -1: none.
    """

    job: str
    batch: int
    clock: int
    tasks: int
    caught_up: bool
    idle_ms: tuple[int, ...]
    topic_ids: dict[str, str]
    ends: dict[str, tuple[int, ...]]
    state_partitions: int
    restore: bool = False
    close_until: int = -1

    def to_json(self) -> dict[str, Any]:
        """Give the offset as Spark keeps it. Keys are always in the same order: Spark compares the text."""
        return {
            "v": FORMAT,
            "job": self.job,
            "n": self.batch,
            "clock": self.clock,
            "tasks": self.tasks,
            "state_partitions": self.state_partitions,
            "caught_up": self.caught_up,
            "idle_ms": list(self.idle_ms),
            "topic_ids": {topic: self.topic_ids[topic] for topic in sorted(self.topic_ids)},
            "ends": {topic: list(self.ends[topic]) for topic in sorted(self.ends)},
            **({"restore": True} if self.restore else {}),
            **({"close_until": self.close_until} if self.close_until >= 0 else {}),
        }

    @classmethod
    def from_json(cls, offset: dict[str, Any]) -> SourceOffset | None:
        """Read an offset; None for the sentinel that stands before the first batch."""
        if offset == SENTINEL:
            return None
        if offset.get("v") != FORMAT or not offset.keys() >= _KEYS:
            raise StateConflict(f"the checkpoint's offset {offset} has a format this release does not know")
        return cls(
            job=offset["job"],
            batch=offset["n"],
            clock=offset["clock"],
            tasks=offset["tasks"],
            caught_up=offset["caught_up"],
            idle_ms=tuple(offset["idle_ms"]),
            topic_ids=dict(offset["topic_ids"]),
            ends={topic: tuple(ends) for topic, ends in offset["ends"].items()},
            state_partitions=offset["state_partitions"],
            restore=offset.get("restore", False),
            close_until=offset.get("close_until", -1),
        )


_KEYS = {"job", "n", "clock", "tasks", "state_partitions", "caught_up", "idle_ms", "topic_ids", "ends"}

SENTINEL: dict[str, Any] = {"v": FORMAT, "start": True}
"""Stands before the first batch: Spark asks for it again when that batch is replayed, so it never changes."""


def task_batches(start: SourceOffset | None, end: SourceOffset) -> list[TaskBatch]:
    """Cut the way from `start` to `end` into one batch per task; partition p belongs to task p % tasks.

    Without `start` (the first batch) nothing is read: its end only fixes where reading begins.
    """
    batches = []
    for task in range(end.tasks):
        ranges = tuple(
            Range(topic, partition, _start_of(start, end, topic, partition), ends[partition])
            for topic, ends in sorted(end.ends.items())
            for partition in range(task, len(ends), end.tasks)
        )
        batches.append(
            TaskBatch(end.job, task, end.batch, end.clock, end.idle_ms[task], ranges, end.restore, end.close_until)
        )
    return batches


def _start_of(start: SourceOffset | None, end: SourceOffset, topic: str, partition: int) -> int:
    if start is None:
        return end.ends[topic][partition]
    known = start.ends.get(topic, ())
    return known[partition] if partition < len(known) else 0
