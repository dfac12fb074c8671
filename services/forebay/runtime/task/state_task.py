"""One state task in the loop: its engine, table and input, and the rows that are in no snapshot yet."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace
from operator import itemgetter

from forebay.processor.batch import BatchResult, Position
from forebay.processor.bound_stores import declared_stores
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import UNBOUNDED, Bounds
from forebay.processor.filling import MOST_ROWS
from forebay.runtime.changelog.topics import ChangelogRouter, ChangelogRows
from forebay.runtime.errors import StoreChanged, TaskTooLarge
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import TaskTime, sender_name
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import TaskCommit
from forebay.runtime.task.error_rate import check_error_rate
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.progress import check_progress
from forebay.runtime.task.record_formats import InputFormats
from forebay.runtime.task.statistics import TaskFigures
from forebay.runtime.task.suspicion import Suspicion
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.task.turn import Turn
from forebay.stores.kinds import recorded_formats
from forebay.stores.layouts import DeclarationChanged
from forebay.stores.materialized import purge, store_of, unlogged_names
from forebay.stores.table import Change, Table

_KEY = itemgetter(0)
_MOST_UNCOMMITTED = 10_000
"""Announcements that a task reads before it commits its position. Otherwise each start would read them again."""


class StateTask:
    """Computes a task's part of each transaction, and keeps its table at the last commit.

    Args:
        table: rows as of the last commit.
        changelogs: turns changed rows into records, and `changelog_rows` records into rows.
        announcer: decides when the time of this task is announced to downstream tasks.
        figures: statistics to count in; None: new ones.
    """

    def __init__(
        self,
        engine: TaskEngine,
        table: Table,
        changelogs: ChangelogRouter,
        changelog_rows: ChangelogRows,
        announcer: Announcer,
        settings: TaskSettings,
        figures: TaskFigures | None = None,
    ) -> None:
        partition, number = changelogs.partition, settings.number
        assert partition == number, f"{settings.name}: task {number} would write to partition {partition}"
        self.engine = engine
        self.table = table
        self.changelogs = changelogs
        self.changelog_rows = changelog_rows
        self.settings = settings
        self.sender = sender_name(settings.sub_topology or settings.sub_topology_number, settings.number)
        """Name of the task in the records that it forwards."""
        self.place = settings.sub_topology_number, settings.number
        """The sub-topology's number and the task's."""
        self.figures = figures or TaskFigures(settings.sub_topology_number, settings.number)
        self.position = TaskPosition("", 0)
        self.input = TaskInput(())
        self.dirty: dict[bytes, None] = {}
        """Keys of rows that have changed since the last cut of a snapshot."""
        self.suspicion = Suspicion()
        self.was_cut = False
        """Whether the time of the last commit was over before all records were processed."""
        self._announcer = announcer
        self._lease = 0
        self._is_closed = False
        self._unlogged = unlogged_names(store for _, store in declared_stores(engine.processor))
        self._punctuated_at: float | None = None
        """Monotonic clock, because a wall clock that is set back would suspend punctuation until it has caught up."""
        self._is_new = True
        self._formats = InputFormats()
        self._appended: list[float] = []
        """Append times of records of the commit that is in progress."""
        self._noted = self._dropped = 0
        self._skipped: dict[str, int] = {}
        """Number of skipped offsets by topic, as of the last commit."""

    @property
    def waiting(self) -> int:
        """Approximate number of records, and of rows for added stores, that the next commit can process."""
        return self.input.waiting + (MOST_ROWS if self.engine.is_filling else 0)

    def was_left(self, position: TaskPosition) -> bool:
        """Return whether this task's sub-topology wrote a position, or a release that recorded no name."""
        return position.sub_topology in ("", self.settings.sub_topology)

    def rows_as_written(self) -> ChangelogRows:
        """Return the converter of changelog records to rows, for the store formats that the table records."""
        return self.changelog_rows.of_formats(recorded_formats(self.table, self.changelog_rows.stores))

    def stand_at(self, position: TaskPosition, inputs: TaskInput) -> None:
        """Start from a committed position. The table must be as of that position.

        Raises:
            StoreChanged: a store's rows were written in another format than it declares.
        """
        if self._unlogged:
            # No changelog completes these rows, so those from a snapshot are older than the position.
            purge(self.table, self._unlogged)
        name = self.settings.name
        assert not position.n or self.table.tag == position.tag, f"{name}: the table is not of commit {position.n}"
        assert set(position.ends) <= set(inputs.ends), f"{name}: an input is not read from where its position ends"
        self.position, self.input = position, inputs
        self.engine.reports.own = {end[:2]: end[2] for end in position.reports}
        try:
            self.engine.load(Position(position.stream_time, position.closing_time))
        except DeclarationChanged as error:
            raise StoreChanged(f"{name}: {error}") from error
        loaded = self.engine.position.stream_time, self.engine.position.closing_time
        assert loaded == (position.stream_time, position.closing_time), (
            f"{name}: the engine's time is not the position's"
        )
        # The commit of the last announcement may have failed, and readers may have started since. It is announced
        # again.
        self._announcer.forget()
        # The commit that moved the closing time may have failed. In this case, the task closes again. Otherwise a
        # rescale would join tasks with different closing times.
        self._is_new, self._noted, self._is_closed = True, inputs.passed, False
        self._skipped = {}
        self._dropped = inputs.dropped
        self._formats = InputFormats(inputs.repartitions, self.table)

    def commit_of(self, changes: list[Change], position: TaskPosition) -> TaskCommit:
        """Return a commit of changed rows without records, which follows the commit of a position."""
        following = replace(position, n=position.n + 1)
        return TaskCommit(self.settings.name, self.sender, BatchResult(changes=changes), following, self.changelogs)

    def compute(
        self, lease: Lease, clock: int, idle_ms: int, most: int, bounds: Bounds = UNBOUNDED
    ) -> TaskCommit | None:
        """Process the records that are ready; return the task's part of the commit, None if there is nothing to commit.

        Args:
            clock: wall clock, ms.
            idle_ms: how long the task has been idle; 0: it is not, or no idle time passes.
            most: approximate number of records to process.
            bounds: limits of the commit. Records that are not processed within its time wait for the next commit.

        Raises:
            TooManyErrors, Unavailable. MemoryError: see `Suspicion`.
        """
        most = self.suspicion.limit(most)
        if self.engine.is_filling:
            bounds = replace(bounds, most_rows=max(1, most))
        # The records leave the queues here. If the commit fails, `stand_at` gets new inputs that begin at the last
        # position.
        streams = self.input.ready(most)
        if lease.token != self._lease:
            self._lease, self._is_closed = lease.token, False
        closes = lease.close_until >= 0 and not self._is_closed and self._is_done(lease)
        now = bounds.monotonic() * 1_000
        due = self._punctuates(now)
        if not (any(streams) or closes or due or self._has_work(lease, idle_ms)):
            return None
        self._is_new = False
        n = self.position.n + 1
        turn = Turn(streams, clock, idle_ms, lease.close_until if closes else -1, bounds, due, now / 1_000)
        try:
            result = turn.compute(self.settings.name, n, self.engine, self.input)
        except MemoryError:
            self.suspicion.arose(self.engine.count_processed())
            raise
        # After the run, because records that were returned to their queues belong to the next commit.
        self._appended = self.input.append_times(turn.streams, time.monotonic(), time.time_ns() // 1_000_000)
        self.was_cut = turn.was_cut
        self._is_closed = self._is_closed or (closes and not turn.was_cut)
        if due:
            self._punctuated_at = now
        result.changes += self._formats.changes
        # After `_is_closed`: a task that has closed announces in the same commit that it is done.
        times = self._times(lease, idle_ms)
        recent = self.position.recent.after(result)
        position = TaskPosition(
            checkpoint=lease.checkpoint,
            n=n,
            stream_time=result.position.stream_time,
            closing_time=result.position.closing_time,
            code_version=self.settings.code_version,
            ends=self.input.ends,
            senders=self.input.senders,
            # In the position, so that a restart does not reset the count of failed records.
            recent=recent.fade(),
            groups=self.settings.groups,
            sub_topology=self.settings.sub_topology,
            reports=self.position.reports,
            global_stores=self.position.global_stores,
            formats=self._formats.digests,
        )
        # An idle group commits nothing, because each transaction costs the broker a marker in every partition that it
        # touches.
        if result.is_empty and not times and not self._moves(position):
            return None
        check_progress(self.settings.name, self.position, position)
        # Before the commit, so that fixed code can process these records again.
        check_error_rate(self.settings.name, n, recent, result, self.settings.max_error_rate)
        return TaskCommit(self.settings.name, self.sender, result, position, self.changelogs, times)

    def on_commit(self, commit: TaskCommit) -> None:
        """Apply a successful commit to the table, the position and the statistics. Raises TaskTooLarge."""
        before, n = self.position.n, commit.position.n
        assert n == before + 1, f"{self.settings.name}: commit {n} does not follow commit {before}"
        self.suspicion.on_commit(commit.result)
        self.table.apply(commit.result.changes, commit.position.tag)
        assert self.table.tag == commit.position.tag, f"{self.settings.name}: the table is not of commit {n}"
        # After the table, because the engine drops its deleted rows here, and the next read of them goes to the table.
        self.engine.settle(commit.position.n)
        changed: Iterable[bytes] = map(_KEY, commit.result.changes)
        if self._unlogged:
            changed = (key for key in changed if store_of(key) not in self._unlogged)
        self.dirty.update(dict.fromkeys(changed))
        self.position, self._noted, self._dropped = commit.position, self.input.passed, self.input.dropped
        self.input.finish_commit()
        self._formats.on_commit()
        self._note_skipped()
        if commit.times:
            # The same time for each repartition.
            self._announcer.note_announcement(commit.times[0][1])
        self.figures.took(commit, self.table, self.engine)
        self.figures.measure(self._appended, time.monotonic())
        taken = self.engine.footprint_bytes
        # Last, because the commit has succeeded: table, position and statistics have to include it in any case.
        if taken > self.settings.max_state_bytes:
            raise TaskTooLarge(
                f"{self.settings.name}: the task's state takes {taken} bytes ({len(self.table)} rows of "
                f"{self.table.size_bytes}), above the limit of {self.settings.max_state_bytes} (max_state_bytes): "
                "use more tasks, a shorter retention, persistent tables or more memory, or raise the limit"
            )

    def is_done(self, lease: Lease) -> bool:
        """Return whether the task has committed everything of a lease with end offsets."""
        # `_is_closed` of an earlier lease proves nothing: that lease had another closing time.
        closed = lease.close_until < 0 or (self._is_closed and self._lease == lease.token)
        # A reader in another group is done only when it has read this announcement, so it must be committed.
        announced = not self.settings.sends or self._announcer.last.done == lease.token
        return self._is_done(lease) and closed and announced

    def _is_done(self, lease: Lease) -> bool:
        return lease.until is not None and self.input.is_done(lease.token) and not self.engine.is_filling

    def _punctuates(self, now: float) -> bool:
        """Return whether wall-clock punctuation is due."""
        interval = self.engine.wall_clock_interval_ms
        if not interval:
            return False
        # The interval begins with the task's first cycle, so a restart delays a punctuation and never repeats one.
        if self._punctuated_at is None:
            self._punctuated_at = now
        # Rounded, because the difference of two times may be slightly less than a whole ms.
        return round(now - self._punctuated_at, 3) >= interval

    def next_due_ms(self, idle_ms: int, now: float) -> int | None:
        """Return the ms until a timer or wall-clock punctuation is due; None if none is pending."""
        interval = self.engine.wall_clock_interval_ms
        begun = now if self._punctuated_at is None else self._punctuated_at
        dues = [math.ceil(round(begun + interval - now, 3))] if interval else []
        idle_until = self.engine.next_due_ms()
        if idle_until is not None:
            dues.append(idle_until - idle_ms)
        return min((due for due in dues if due > 0), default=None)

    def _has_work(self, lease: Lease, idle_ms: int) -> bool:
        """Return whether a commit may be needed although no record is ready.

        A task that was just opened may have conversions to commit, or its position under another checkpoint.
        """
        if self._is_new or self.engine.is_filling or self.engine.is_due(idle_ms) or bool(self._times(lease, idle_ms)):
            return True
        return self._has_read_much or self.position.checkpoint != lease.checkpoint

    @property
    def _has_read_much(self) -> bool:
        """Whether to commit the position because many announcements were read, or records were skipped or dropped."""
        if self.input.deleted_unread != self._skipped or self.input.dropped > self._dropped:
            return True
        return bool(self.position.ends) and self.input.passed - self._noted > _MOST_UNCOMMITTED

    @property
    def _is_caught_up(self) -> bool:
        return self.input.is_caught_up and not self.engine.is_filling

    def _note_skipped(self) -> None:
        skipped = self.input.deleted_unread
        if skipped != self._skipped:
            for topic, count in skipped.items():
                self.figures.skip(topic, count - self._skipped.get(topic, 0))
            self._skipped = skipped

    def _moves(self, position: TaskPosition) -> bool:
        """Return whether to commit a position without records: time advanced, or many announcements were read."""
        before = self.position
        moved = (before.stream_time, before.closing_time) != (position.stream_time, position.closing_time)
        # Positions of release 0.2 name no sub-topology. While they are the last, each start fences all groups.
        edited = (before.checkpoint, before.formats, before.sub_topology)
        is_edited = edited != (position.checkpoint, position.formats, position.sub_topology)
        return moved or is_edited or self._has_read_much

    def _times(self, lease: Lease, idle_ms: int) -> tuple[tuple[str, TaskTime], ...]:
        if not self.settings.sends:
            return ()
        is_closed = lease.close_until < 0 or self._is_closed
        done = lease.token if self._is_done(lease) and is_closed else 0
        own = TaskTime(self.engine.position.stream_time, self._is_caught_up, idle_ms, done)
        return tuple((name, own) for name in self.settings.sends) if self._announcer.is_due(own) else ()
