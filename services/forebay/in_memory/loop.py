"""The loop of a job over topics in memory, in which one group runs all tasks until nothing is left to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from forebay.in_memory.broker import MemoryProducer, MemoryReader, MemorySurroundings
from forebay.in_memory.records import Sink
from forebay.in_memory.sub_topologies import SubTopologyTasks
from forebay.in_memory.topics import Topics
from forebay.job import Job
from forebay.partitioner import Partitioner
from forebay.runtime.changelog.topics import INTERNAL, internal_topic
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.reads import repartition_topics
from forebay.runtime.task.record_formats import digests_of
from forebay.stores.kinds import recorded_formats
from forebay.stores.memory import MemoryTable
from forebay.stores.table import Change

Left = tuple[Iterable[Change], TaskPosition]
"""Rows and position of a task."""

_MOST_ROUNDS = 1_000
_MOST_STEPS = 10_000
_KEPT = 10_000
"""Number of records in all topics above which processed records are deleted."""


@dataclass(slots=True)
class Time:
    """A clock that only a test advances.

    Args:
        clock: Wall-clock time, in ms.
        passed_ms: Time that has passed since the beginning, in ms.
    """

    clock: int
    passed_ms: int = 0

    def wall(self) -> int:
        """Return the wall-clock time, in ms."""
        return self.clock

    def monotonic(self) -> float:
        """Return the seconds that have passed."""
        return self.passed_ms / 1_000

    def advance(self, ms: int) -> None:
        """Let time pass."""
        self.clock += ms
        self.passed_ms += ms


class GoesRound(RuntimeError):
    """The loop does not end, because each commit causes another one."""


class Loop:
    """A loop that runs `TaskGroup` as a job does, except that time does not pass and each commit is due immediately.

    Args:
        sub_topologies: Sub-topologies of the job.
        tasks: Number of tasks.
        partitions: Number of partitions of each input and output.
        time: Clock.
        sinks: Functions that receive the records sent to outputs, `.errors` and `.late`, by topic.
    """

    def __init__(
        self,
        job: Job,
        application: str,
        sub_topologies: Sequence[SubTopologyTasks],
        tasks: int,
        partitions: int,
        time: Time,
        sinks: Mapping[str, Sink],
    ) -> None:
        self._sub_topologies, self._time, self._application = sub_topologies, time, application
        self.topics = Topics()
        for topic in job.inputs:
            self.topics.create(topic, partitions)
        repartitions = repartition_topics(application, job)
        for topic in repartitions.values():
            self.topics.create(topic, tasks)
        digests = digests_of(application, job)
        destinations = Destinations(
            errors(application), late(application), repartitions, Partitioner(tasks), digests=digests
        )
        self.partition_of = Partitioner(partitions)
        self.producer = MemoryProducer(self.topics, destinations, self.partition_of, sinks)
        self._surroundings = MemorySurroundings(self.topics, job, application)
        self._lease = Lease("test", 1, 0, 1, tasks, 0, dict.fromkeys(job.inputs, (0,) * partitions))
        self._begin()

    def _begin(self) -> None:
        tasks = [task for sub_topology in self._sub_topologies for task in sub_topology.state_tasks]
        self._reader = MemoryReader(self.topics)
        self._group = TaskGroup(
            tasks,
            {},
            self._reader,
            self.producer,
            self._surroundings,
            Pacing(Limits(commit_interval_ms=0), self._time.monotonic),
            GroupSettings(f"{self._application}-group-0"),
            self._time.wall,
            self._time.monotonic,
        )
        # A record needs one cycle for each sub-topology that it passes.
        self._most = _MOST_ROUNDS * len(self._sub_topologies)
        self.run()

    def run(self) -> None:
        """Run cycles until nothing is left to do.

        If a cycle raises an error, the next run processes its uncommitted records again.

        Raises:
            GoesRound: Each commit causes another one.
        """
        self._run(self._lease)
        # A push query may use this loop for days, and nothing reads the processed records of its topics again.
        if self.topics.kept > _KEPT:
            self.forget_used()

    def forget_used(self) -> None:
        """Delete the records of topics that all tasks have processed."""
        self.topics.forget_used(task.position for task in self._group.tasks)

    def pass_time(self, ms: int) -> None:
        """Advance time, and run cycles whenever a timer of a task that sends to others is due.

        The records that it sends arrive at that time, so that later sub-topologies have been idle until then.
        """
        senders = [task for task in self._group.tasks if task.settings.sends]
        for _ in range(_MOST_STEPS):
            dues = [self._group.next_due_ms(task) for task in senders]
            # Stop at each time at which a sender is due. With one large step, tasks of later sub-topologies would
            # receive its records only at the end.
            step = min((due for due in dues if due is not None), default=ms)
            if step >= ms:
                break
            self._time.advance(step)
            self.run()
            ms -= step
        self._time.advance(ms)
        self.run()

    def _run(self, lease: Lease) -> None:
        group = self._group
        if not group.is_open:
            self._open(lease)
        try:
            for _ in range(self._most):
                moved = group.cycle(lease, 0.0)
                # A commit may send records to other tasks or make a task due, so that another cycle follows each cycle
                # that did something.
                if not self._reader.has_more and not (moved and self._may_move(lease)):
                    return
        except BaseException:
            # Open the group again, so that stores and timers are as of the last commit.
            group.abandon()
            self._open(self._lease)
            raise
        raise GoesRound

    def _open(self, lease: Lease) -> None:
        try:
            self._group.open(lease)
        except BaseException:
            self._group.abandon()
            raise

    def _may_move(self, lease: Lease) -> bool:
        """Return whether the next cycle may do something although all records were read."""
        if lease.until is not None:
            return True
        return any(task.input.has_waiting or task.engine.is_filling for task in self._group.tasks)

    def close(self, until: int) -> None:
        """Advance closing times to `until` (ms), as the last lease before a rescale does."""
        ends = {
            topic: tuple(partition.end for partition in self.topics.partitions[topic]) for topic in self._lease.start
        }
        lease = replace(self._lease, number=self._lease.number + 1, until=ends, close_until=until)
        self._reader.end_here(True)
        self._run(lease)
        assert self._group.is_done(lease), "a lease that ends is not done"
        self._reader.end_here(False)
        self._lease = replace(self._lease, number=lease.number + 1)
        self.run()

    def restart(self) -> None:
        """Restart the loop as a new process does, rebuilding the tables from the changelogs."""
        # As a job does at its end, delete the processed records of repartition topics.
        self._group.mark()
        self._group.close()
        for sub_topology in self._sub_topologies:
            sub_topology.begin()
        self._begin()

    def restore(self, tasks: Mapping[tuple[int, int], Left]) -> None:
        """Restart with the state of another job's tasks, as after a rescale or a change of the topology.

        Args:
            tasks: Rows and position of each task, by sub-topology and task number.
        """
        reached = {end[:2]: end[2] for task in self._group.tasks for end in task.input.ends}
        for (place, number), (rows, position) in tasks.items():
            left, at, internal = list(rows), max(position.stream_time, 0), internal_topic(self._application, place)
            table = MemoryTable()
            table.apply(left, b"")
            for task in self._group.tasks:
                if task.changelogs.partition == number:
                    own = [row for row in left if not row[0].startswith(INTERNAL)]
                    # The other driver may have declared other kinds of stores.
                    router = task.changelogs.of_formats(recorded_formats(table, task.changelog_rows.stores))
                    for topic, key, value, when in router.route(own, at):
                        self.topics.changelog(topic, number).append(key, value, when)
            for key, value in left:
                if key.startswith(INTERNAL):
                    self.topics.changelog(internal, number).append(key, value, at)
            # Use the offsets of this driver's topics, because the other driver's topics had other records.
            here = [task for task in self._group.tasks if task.place == (place, number)]
            ends = {end[:2]: reached.get(end[:2], 0) for end in position.ends}
            ends |= {end[:2]: end[2] for task in here if task.was_left(position) for end in task.input.ends}
            # A sub-topology with another name may read repartitions of which this driver has deleted records.
            read = {(part.topic, part.partition) for task in here for part in task.input.repartitions}
            ends |= {end: reached[end] for end in read if end not in ends}
            self.topics.positions[internal, number] = replace(
                position, ends=tuple((*at, end) for at, end in ends.items()), senders=()
            )
        self.restart()


def errors(application: str) -> str:
    """Return the name of a job's dead-letter topic."""
    return f"{application}.errors"


def late(application: str) -> str:
    """Return the name of a job's late topic."""
    return f"{application}.late"
