"""A task group: the tasks of one lease, with one reader, one producer, one transaction at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forebay.runtime.errors import GroupFenced, OffsetsLost, Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.snapshot_mark import NUMBER, SnapshotMark
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.coverage import Coverage, Retention
from forebay.runtime.task.fetching import Gathering
from forebay.runtime.task.global_tables import with_global_stores
from forebay.runtime.task.idleness import Idleness
from forebay.runtime.task.lag import measure_lag
from forebay.runtime.task.own_reports import with_own_reports
from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.ports import Committer, Reader, Surroundings
from forebay.runtime.task.senders import Senders
from forebay.runtime.task.snapshot import Place, SnapshotWriter
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.takeover import Takeover
from forebay.runtime.task.turns import Turns

log = logging.getLogger(__name__)

_MARK_SECONDS = 1.0
_CHECK_SECONDS = 1.0
_STAMP_SECONDS = 3_600.0
"""How long an idle job reuses its snapshot marks. It is less than the time for which changelogs keep deletes."""


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """Settings of a task group.

    Args:
        name: `<application>-group-<number>`, which is also its transactional id.
        idle: whether idle time passes on idle topics.
    """

    name: str
    retention: Retention = field(default_factory=Retention)
    idle: bool = True


class TaskGroup:
    """Runs cycles of poll, process and commit. Only one thread at a time may use it.

    Args:
        tasks: tasks of the group, ordered by sub-topology and number.
        writers: snapshot writers of these tasks.
    """

    def __init__(
        self,
        tasks: list[StateTask],
        writers: dict[Place, SnapshotWriter],
        reader: Reader,
        producer: Committer,
        surroundings: Surroundings,
        pacing: Pacing,
        settings: GroupSettings,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.tasks = tasks
        self.writers = writers
        self.settings = settings
        self._reader = reader
        self._producer = producer
        self._surroundings = surroundings
        self._pacing = pacing
        self._senders = Senders(tasks, reader, monotonic)
        self._gathering = Gathering(tasks, reader, pacing, monotonic, self._senders.look)
        self._idleness = Idleness(tasks, reader, monotonic)
        self._turns = Turns(tasks, self._idleness, clock, monotonic, may_idle=settings.idle)
        self.progress = self._turns.progress
        self._clock = clock
        self._monotonic = monotonic
        self.coverage = Coverage(tasks, settings.retention, clock, monotonic)
        self._takeover = Takeover(settings.name, tasks, self.coverage, surroundings, producer, monotonic)
        self._marked_at = self._committed_at = self._stamped_at = float("-inf")
        self._has_more = True
        """Whether rows were committed to the changelogs since their latest marks."""
        self._is_marked = True
        self._checked_at = float("-inf")

    @property
    def is_open(self) -> bool:
        """Whether this worker owns the group, as far as it knows, and its tasks are at their last commits."""
        return self._producer.is_open

    def open(self, lease: Lease, may_fence: Callable[[], bool] = lambda: True) -> None:
        """Take over the group: check its owner, fence other producers, replay the changelogs, begin to read.

        Args:
            may_fence: returns whether the lease is still held; called right before other producers are fenced.

        Raises:
            StateConflict: the group belongs to another checkpoint. No producer was fenced. Unavailable.
        """
        beginning = TaskPosition(lease.checkpoint, 0)
        inputs = {task.place: self._surroundings.inputs(task.place, lease, beginning) for task in self.tasks}
        # Before the fencing, because a driver that was started with the wrong checkpoint must not stop a healthy job.
        marked = self._takeover.refuse_foreign(lease, inputs)
        # The broker may have answered late. The worker of the next lease may own the group by now.
        if not may_fence():
            raise Unavailable("the lease ended before the group was opened")
        self._producer.fence()
        # This must follow the fencing, or the previous owner could still commit after its changelogs were read.
        positions = self._takeover.complete(lease, inputs, marked)
        self._has_more = True
        for task in self.tasks:
            position = positions[task.place] or TaskPosition(lease.checkpoint, 0)
            position = with_global_stores(task, inputs[task.place], position)
            position = with_own_reports(task.place, position, task.engine.reports.elsewhere, positions)
            task.stand_at(position, self._surroundings.inputs(task.place, lease, position))
            task.figures.stand(task.table)
            self._idleness.begin(task)
        self._turns.left_records = False
        self._gathering.open(is_shared=lease.groups > 1)
        self._senders.begin(lease)
        self._marked_at = float("-inf")
        self._committed_at = self._monotonic()

    def cycle(self, lease: Lease, seconds: float) -> bool:
        """Read, process and commit once; return whether anything was committed.

        Args:
            seconds: longest time to wait for records.

        Raises:
            Unavailable: whether the commit succeeded is unknown. Call `abandon`, then `open`, which reads it from the
                changelogs.
            StopJob: the job must not continue.
        """
        try:
            most = self._gathering.gather(seconds, left_records=self._turns.left_records)
        except OffsetsLost:
            # Perhaps another worker owns the group, and has processed and purged these records. Then this commit fails.
            positions = [task.position for task in self.tasks if task.position.n]
            self._commit_markers(positions, () if positions else self._marks(self._clock()))
            raise
        self._senders.measure(lease)
        commits = self._turns.compute(lease, most, self._senders.processing_seconds)
        self._reader.balance(task.input for task in self.tasks)
        # The marker group may lack the commits of the last second. Without more records, lag tools would report a lag
        # forever.
        if not commits:
            if self._monotonic() - self._marked_at >= _MARK_SECONDS:
                self._mark_the_rest()
            return False
        # Before the commit, not after: a commit with offsets of a recreated topic could not be undone.
        self._check_topics(lease)
        self._commit(commits)
        self._pacing.on_commit(is_empty=all(commit.result.is_empty for commit in commits))
        return True

    def _check_topics(self, lease: Lease) -> None:
        """Check, at most once a second, whether inputs were recreated: their offsets would mean other records."""
        if self._monotonic() - self._checked_at >= _CHECK_SECONDS:
            self._surroundings.check_topics(lease)
            self._checked_at = self._monotonic()

    def next_due_ms(self, task: StateTask) -> int | None:
        """Return the ms until a task's next timer or wall-clock punctuation, at least 1; None if none is pending."""
        return task.next_due_ms(self._idleness.of(task, may_idle=self.settings.idle), self._monotonic() * 1_000)

    def confirm(self, seconds: float) -> None:
        """Commit if nothing was committed for `seconds`: only a commit proves that this worker still owns the group.

        Raises:
            GroupFenced, Unavailable.
        """
        if self.is_open and self._monotonic() - self._committed_at >= seconds:
            self._commit_markers([task.position for task in self.tasks if task.position.n])

    def is_done(self, lease: Lease) -> bool:
        """Return whether a lease with end offsets, or of a restore, is completed."""
        # Nothing is read after such a restore, so the inputs' ends don't matter.
        if lease.restore_only:
            return self.is_taken_over(lease)
        # After a commit that the client may have repeated, the group is closed and must be opened before it commits.
        return self.is_open and all(task.is_done(lease) for task in self.tasks)

    def is_taken_over(self, lease: Lease) -> bool:
        """Return whether the last commit of every task is under the lease's checkpoint."""
        return all(not task.position.n or task.position.checkpoint == lease.checkpoint for task in self.tasks)

    def measure_lag(self) -> None:
        """Set the lag in each task's statistics, on any thread. While the group is closed, the lag is unknown."""
        ends = self._reader.seen_ends() if self.is_open else None
        for task in self.tasks:
            task.figures.lag = None if ends is None else measure_lag(task.input, ends)

    def abandon(self) -> None:
        """Discard uncommitted changes; `open` finds out whether the commit in flight succeeded."""
        self._producer.discard()

    def close(self) -> None:
        """Release all connections, and the tables' memory or files."""
        self.abandon()
        self._reader.close()
        for task in self.tasks:
            task.table.close()

    def look_at_changelogs(self) -> None:
        """Update the offsets up to which the tables contain the changelogs, between two commits.

        Raises:
            GroupFenced, Unavailable: the previous offsets remain valid.
        """
        positions = [task.position for task in self.tasks if task.position.n]
        if not self.is_open or not positions:
            return
        # The clock is read before the ends, because the snapshot must not look younger than its offsets.
        known_at, now = self._clock(), self._monotonic()
        if self._has_more or now - self._stamped_at > _STAMP_SECONDS:
            self._stamp(positions, known_at)
            self._has_more, self._stamped_at = False, now
        else:
            # Nothing was written since the last mark, so the mark still proves that no deletes are gone.
            self._commit_markers(positions)
        self.coverage.learn(known_at)

    def _stamp(self, positions: list[TaskPosition], number: int) -> None:
        places = [(topic, task.settings.number) for task in self.tasks for topic in task.changelog_rows.topics]
        ends = self._surroundings.ends(places)
        # Rows before these ends may be those of another owner, which these tables lack. Then this commit fails.
        self._commit_markers(positions, self._marks(number))
        for task in self.tasks:
            offsets = {topic: ends[topic, task.settings.number] for topic in task.changelog_rows.topics}
            self.coverage.note(task, {**offsets, NUMBER: number})
            task.figures.tail_rows = 0

    def _marks(self, number: int) -> list[SnapshotMark]:
        return [
            SnapshotMark(topic, task.settings.number, number, max(task.position.stream_time, 0))
            for task in self.tasks
            for topic in task.changelog_rows.topics
        ]

    def _commit(self, commits: list[TaskCommit]) -> None:
        begun = time.perf_counter()
        positions = {commit.name: commit.position for commit in commits}
        due = self._monotonic() - self._marked_at >= _MARK_SECONDS
        # At most once a second: the marker group serves lag tools and the ownership check. A start reads the positions
        # in the changelogs.
        marked = [positions.get(task.settings.name, task.position) for task in self.tasks] if due else []
        self._producer.commit(commits, [position for position in marked if position.n])
        self._has_more = True
        self._senders.on_commit(commits)
        self._is_marked, self._committed_at = due, self._monotonic()
        if due:
            self._marked_at = self._committed_at
        seconds = time.perf_counter() - begun
        # The tables change only now. If the commit had failed, they would still be those of the commit before.
        by_name = {task.settings.name: task for task in self.tasks}
        for commit in commits:
            task = by_name[commit.name]
            task.on_commit(commit)
            task.figures.seconds["commit"] = task.figures.seconds.get("commit", 0.0) + seconds / len(commits)

    def _mark_the_rest(self) -> None:
        """Commit the remaining positions to the marker group, so that the lag of a caught-up job is 0."""
        if self.is_open and not self._is_marked:
            self._commit_markers([task.position for task in self.tasks if task.position.n])

    def mark(self) -> None:
        """Commit the remaining positions to the marker group, and request the deletion of used repartition records."""
        self._mark_the_rest()
        # Only up to committed positions, because the next start reads from there.
        self._surroundings.purge(
            {
                (topic, number): end
                for task in self.tasks
                for partition in task.input.repartitions
                for topic, number, end in task.position.ends
                if (topic, number) == (partition.topic, partition.partition)
            }
        )

    def _commit_markers(self, positions: list[TaskPosition], marks: Sequence[SnapshotMark] = ()) -> None:
        if not positions and not marks:
            return
        try:
            self._producer.commit([], positions, marks)
        except GroupFenced:
            raise
        except Unavailable:
            self.abandon()
            raise
        self._is_marked, self._committed_at = True, self._monotonic()
