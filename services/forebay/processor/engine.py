"""The engine of a state task, which processes records and timers atomically. It uses neither Spark nor Kafka."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from forebay.limits.room import Rooms
from forebay.processor.api import AnyProcessor
from forebay.processor.arrivals import Streams, arrivals
from forebay.processor.batch import BatchResult, Position, latest
from forebay.processor.bound_stores import bind_stores
from forebay.processor.codecs import Codecs
from forebay.processor.dedupe import Dedupe
from forebay.processor.effects import Effects
from forebay.processor.engine_settings import UNBOUNDED, Bounds, Emit, EngineSettings, StateEncoding
from forebay.processor.filling import Fillings, fillings_of
from forebay.processor.idle_time import idle_until, next_due_ms
from forebay.processor.messages import ErrorStage, Message
from forebay.processor.plans import context_of, plan_of
from forebay.processor.reports import FAILURES, Reports
from forebay.processor.resuming import Resuming
from forebay.processor.steps import Steps
from forebay.processor.timer_keys import TimerKeys, timer_keys_of
from forebay.processor.timers import Timers, timer_names_of
from forebay.stores.binding import TaskStores
from forebay.stores.kinds import Kinds
from forebay.stores.layouts import key_formats_of
from forebay.stores.rows import Journal
from forebay.stores.table import Table
from forebay.time.durations import ms_of


class TaskEngine:
    """The engine that runs a processor for the commits of one task.

    Between commits, call `settle` if the last result was committed and applied to the table. Otherwise call `load`.

    Args:
        table: Table of the task's committed rows. The engine only reads it.
    """

    def __init__(self, processor: AnyProcessor, codecs: Codecs, table: Table, settings: EngineSettings) -> None:
        self.processor = processor
        self.settings = settings
        self.table = table
        self._codecs = codecs
        self._journal = Journal()
        self._repartitions = codecs.repartitions
        cached = codecs.table_outputs if settings.emit is Emit.LATEST else frozenset[str]()
        self._cached_outputs = cached | codecs.cached_outputs
        rooms = self._rooms = Rooms(settings.limits)
        self._context = context_of(codecs, settings, rooms)
        self._plan = plan_of(codecs, processor)
        lent = TaskStores(table, self._journal, self._context, settings.cached_objects, rooms)
        stores = bind_stores(processor, codecs, lent)
        self._stores = lent.opened
        keys = key_formats_of(processor)
        self._kinds = Kinds(settings.service, stores, lent, codecs.stores, settings.on_change, keys)
        processor.init()
        self._fillings = Fillings(settings.service, fillings_of(processor), lent)
        self.timers = Timers(timer_names_of(processor))
        self._timer_keys = TimerKeys(settings.service, timer_keys_of(processor))
        self.dedupe = Dedupe(settings.dedupe_retention_ms)
        self.position = Position()
        self._result = BatchResult()
        self._given = Streams(())
        effects = Effects(self._context, self._journal, self.timers)
        elsewhere = codecs.topics_of(settings.reported_elsewhere)
        self.reports = Reports(settings.service, rooms, self._context, codecs.handed_topics, elsewhere, self._result)
        self._steps = Steps(processor, self._context, effects, self._journal, self.timers, self.reports)
        self._context.isolated, self._context.apart = self._steps.run_isolated, self._steps.run_apart

    @property
    def footprint_bytes(self) -> int:
        """Bytes that the state uses: the table, and event ids and timers, which are in memory as well."""
        return self.table.footprint_bytes + self.dedupe.footprint_bytes + self.timers.footprint_bytes

    @property
    def wall_clock_interval_ms(self) -> int:
        """Interval of wall-clock punctuation, in ms. 0: the processor does not use it."""
        return ms_of(self.processor.wall_clock_interval_ms)

    @property
    def is_filling(self) -> bool:
        """Whether a store has not got all rows of a table (see filling.py)."""
        return self._fillings.is_pending

    def store_calls(self) -> dict[str, tuple[int, int]]:
        """Return the number of puts and of reads by key of each store."""
        return {rows.store: (rows.puts, rows.gets) for rows in self._stores if not rows.store.startswith("\x01")}

    def load(self, position: Position) -> None:
        """Discard all changes that are not in the table, and continue at `position`.

        Raises:
            KindChanged: A store's rows were written in another format than it declares (see EngineSettings.on_change).
        """
        for rows in self._stores:
            rows.discard()
        self._kinds.load(self.table, position.stream_time)
        # A conversion puts rows as a record does. The failure of a record must not undo these puts.
        self._journal.commit()
        self._fillings.load(self.table)
        self._timer_keys.load(self.table)
        self.timers.load(self.table)
        self.dedupe.load(self.table)
        if isinstance(self.processor, Resuming):
            self.processor.resume_after_commit(position.stream_time)
        self.position = position

    def settle(self, batch: int) -> None:
        """Continue after the commit numbered `batch`, whose changes are now in the table."""
        # This comes first, because it asks the rows which stores have changed. Settled rows no longer know.
        self._kinds.settle()
        self._fillings.settle()
        for rows in self._stores:
            rows.settle()
        self._timer_keys.settle()
        self.timers.settle()
        self.dedupe.settle(batch)

    def run(
        self,
        streams: Sequence[Iterable[Message]],
        clock: int,
        encoding: StateEncoding = StateEncoding.AT_END,
        bounds: Bounds = UNBOUNDED,
    ) -> list[int] | None:
        """Process the records of a commit.

        Args:
            streams: Records of each input partition in offset order, sorted by (topic, partition). They are merged by
                event time (see `arrivals`). If the time is limited, they are lists.
            clock: The commit's clock (ms). Event times after clock + max_future_ms, or that the changelogs do not
                accept, are errors.

        Returns:
            None if all records were processed. If the time was over before, the number of processed records by stream.

        Raises:
            Unavailable: The commit can't be computed now.
            MemoryError: The memory does not suffice (see `count_processed`).
        """
        assert not self._journal.entries, "effects of an earlier record are neither kept nor undone"
        result = self._result = BatchResult(outputs=self._context.begin(clock, self.position))
        self.reports.begin(result, bounds)
        self._steps.begin(bounds, checks_puts=encoding is StateEncoding.EACH)
        self._rooms.begin(clock)
        times = self._rooms.event_times(clock, self.settings.max_future_ms)
        seen, digest = self.dedupe.seen, self.dedupe.digest
        stream_time = self.position.stream_time
        if self._fillings.is_pending:
            call = partial(self._steps.run_alone, clock)
            result.rows_sent = self._fillings.run(call, bounds, max(stream_time, 0))
        context, deduping = self._context, self.settings.dedupe_retention_ms > 0
        timers, attempt = self.timers, self._steps.attempt
        given = self._given = Streams(streams, blames_memory=bounds.blames_memory)
        # At least one record is processed. Otherwise a slow record would never be committed.
        over, until, monotonic = math.inf, bounds.until, bounds.monotonic
        for message, key, event, timestamp, failure, ident_of in arrivals(
            given, self._plan, times, result.records_by_topic
        ):
            if monotonic() > over:
                return self._cut(streams, stream_time)
            over = until
            if failure is not None:
                self.reports.report(message, failure, clock, ErrorStage.DECODE)
                continue
            now = timestamp if timestamp > stream_time else stream_time
            identity = None
            if deduping and ident_of is not None:
                try:
                    identity = None if (name := ident_of(event)) is None else digest(name)
                except FAILURES as error:
                    self.reports.blame(message, error, clock)
                    continue
                # Check this before stream time advances. Otherwise a replayed input would close windows early.
                if identity is not None and seen(identity, now):
                    result.duplicates += 1
                    continue
            context.stream_time = now
            if now > context.closing_time:
                context.closing_time = now
            # Fire timers before the record, which must see the state as of its time.
            if timers.first <= context.closing_time:
                context.record_follows = True
                is_done = self._steps.fire(clock)
                context.record_follows = False
                if not is_done:
                    return self._cut(streams, stream_time)
            # Stream time stays advanced even if the record is rejected below, because timers have fired for this time
            # and would otherwise be due again.
            stream_time = now
            context.key, context.timestamp, context.message = key, timestamp, message
            # A record that failed may be sent again (`forebay errors replay`). It must not count as a duplicate then.
            if attempt(message, event, clock) and identity is not None:
                self.dedupe.add(identity, now)
        # Set the position only here, because a commit that fails is repeated from the previous position.
        self.position = Position(stream_time, self.position.closing_time)
        return None

    def count_processed(self) -> int:
        """Return the number of records that were processed before `run` raised MemoryError."""
        return sum(self._given.processed_counts())

    @property
    def progress(self) -> object:
        """Value that changes with each record, timer or output."""
        context = self._context
        return context.message, context.key, len(context.outputs)

    def _cut(self, streams: Sequence[Iterable[Message]], stream_time: int) -> list[int]:
        """End a run before the current record. Return the number of processed records of each stream."""
        self.position = Position(stream_time, self.position.closing_time)
        processed = self._given.processed_counts()
        self._given.count_cut(streams, processed, self._result.records_by_topic, self._codecs.names)
        return processed

    def close(self, until: int, clock: int) -> bool:
        """Advance the closing time to `until` (ms), unless it is later already, and fire the timers due by then.

        Returns:
            Whether all due timers have fired. If the time of the commit was over before, the closing time stays.
        """
        stream_time, closing_time = self.position.stream_time, max(self.position.closing_time, until)
        if stream_time < 0 or closing_time == self.position.closing_time:
            return True
        self._context.stream_time = stream_time
        self._context.closing_time = max(stream_time, closing_time)
        if not self._steps.fire(clock):
            return False
        self.position = Position(stream_time, closing_time)
        return True

    def tick(self, idle_ms: int, clock: int) -> None:
        """Advance the closing time by idle time (see `Processor.idle`), and fire the timers due by then.

        If no timer fires, the position keeps its closing time.
        """
        if not self.is_due(idle_ms):
            return
        stream_time, closing_time = self.position.stream_time, self.position.closing_time
        closing_time = max(closing_time, idle_until(self.processor.idle, stream_time, idle_ms))
        self._context.stream_time = stream_time
        self._context.closing_time = closing_time
        fired = self._result.timers_fired
        self._steps.fire(clock)
        # A task commits a position that differs. If idle time alone changed it, an idle task would commit in every
        # cycle.
        if self._result.timers_fired > fired:
            self.position = Position(stream_time, closing_time)

    def is_due(self, idle_ms: int) -> bool:
        """Return whether a timer is due once the task has been idle for `idle_ms`."""
        stream_time = self.position.stream_time
        if stream_time < 0 or idle_ms <= 0:
            return False
        return self.timers.first <= idle_until(self.processor.idle, stream_time, idle_ms)

    def next_due_ms(self) -> int | None:
        """Return the idle time (ms) after which the first timer fires, or None if no timer is set."""
        return next_due_ms(self.processor.idle, self.position.stream_time, self.timers.first)

    def punctuate(self, now: int) -> None:
        """Call the processor's `on_wall_clock` at `now` (ms). A failure goes to `.errors` and undoes its effects."""
        self._steps.punctuate(now)

    def finish(self, batch: int) -> BatchResult:
        """Return the result of the commit with the number `batch`. Raise StoreEncodeError (see StateEncoding)."""
        result, pending = self._result, self._journal.entries or self._context.timer_ops
        assert not pending, f"commit {batch}: effects of a record are neither kept nor undone"
        if self._repartitions:
            result.onward = [output for output in result.outputs if output.target in self._repartitions]
            result.outputs = [output for output in result.outputs if output.target not in self._repartitions]
        if self._cached_outputs:
            result.outputs = latest(result.outputs, self._cached_outputs)
        changes = result.changes = []
        for rows in self._stores:
            changes.extend(rows.changes())
        changes.extend(self._kinds.changes())
        changes.extend(self._fillings.changes())
        result.conversions = list(self._kinds.conversions)
        timers = list(self.timers.changes())
        if timers:
            changes.extend(self._timer_keys.changes())
            changes.extend(timers)
        changes.extend(self.dedupe.changes(batch))
        result.position = self.position
        return result
