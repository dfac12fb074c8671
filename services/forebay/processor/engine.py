"""The engine of one state task: records in order, timers, dedupe, atomic effects. Pure: no Spark, no Kafka."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from forebay.codec import EncodeError, Unavailable
from forebay.processor.api import AnyProcessor, LateRecord, Timer
from forebay.processor.arrivals import Plan, Streams, TimerMessage, arrivals
from forebay.processor.batch import BatchResult, Position, latest
from forebay.processor.codecs import Codecs, key_readers, key_writers
from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.declared import bind_stores
from forebay.processor.dedupe import Dedupe
from forebay.processor.effects import Effects
from forebay.processor.engine_settings import UNBOUNDED, Bounds, Emit, EngineSettings, StateEncoding
from forebay.processor.forwarded import as_received
from forebay.processor.messages import ErrorStage, Message, Output
from forebay.processor.side_topics import error_record, late_record
from forebay.processor.timers import NEVER, Timers
from forebay.room import Rooms
from forebay.stores.binding import TaskStores
from forebay.stores.kinds import Kinds
from forebay.stores.rows import Journal
from forebay.stores.table import Table
from forebay.time.durations import ms_of

_FAILURES = (Exception, SystemExit)
"""What logic may raise. A call of `sys.exit` ends the record, not the worker."""

_MOST_FIRED_OUTPUTS = 100_000
"""Outputs of a commit above which its timers wait for the next commit."""


class TaskEngine:
    """Runs a processor over one task's batches.

    Between commits, call `settle` if the last result was accepted and applied to the table, else `load`.

    Args:
        table: the task's confirmed table; read here, changed only by its owner.
    """

    def __init__(self, processor: AnyProcessor, codecs: Codecs, table: Table, settings: EngineSettings) -> None:
        self.processor = processor
        self.settings = settings
        self.table = table
        self._codecs = codecs
        self._journal = Journal()
        targets = codecs.targets
        self._repartitions = codecs.repartitions
        cached = codecs.table_outputs if settings.emit is Emit.LATEST else frozenset[str]()
        self._cached_outputs = cached | codecs.cached_outputs
        rooms = self._rooms = Rooms(settings.limits)
        fitted = {
            name: (codec, rooms.onward(name) if name in codecs.repartitions else rooms.output(name))
            for name, codec in targets.items()
        }
        write_keys, read_keys = key_writers(codecs.keys), key_readers({**codecs.keys, **codecs.read_keys})
        self._handed = codecs.handed_topics
        self._context = TaskContext(
            fitted,
            next(iter(targets), ""),
            settings.max_record_bytes,
            settings.max_output_bytes,
            rooms.internal,
            write_keys,
            codecs.names,
            self._handed,
        )
        self._plan = Plan(
            codecs.inputs,
            read_keys,
            codecs.tables,
            codecs.nullable,
            codecs.timeless,
            processor,
            codecs.handed,
            codecs.names,
        )
        lent = TaskStores(table, self._journal, self._context, settings.cached_objects, rooms)
        stores = bind_stores(processor, codecs, lent)
        self._stores = lent.opened
        self._kinds = Kinds(settings.service, stores, lent, codecs.stores, settings.on_change)
        processor.opened()
        self.timers = Timers()
        self.dedupe = Dedupe(settings.dedupe_retention_ms)
        self.position = Position()
        self._result = BatchResult()
        self._encoding, self._bounds, self._given = StateEncoding.AT_END, UNBOUNDED, Streams(())
        self._most_output_bytes = settings.max_output_bytes
        self._effects = Effects(self._context, self._journal, self.timers)
        self._context.isolated, self._context.apart = self._run_isolated, self._apart

    @property
    def footprint_bytes(self) -> int:
        """Bytes that the state takes: its table, and event ids and timers, which are in memory as well."""
        return self.table.footprint_bytes + self.dedupe.footprint_bytes + self.timers.footprint_bytes

    @property
    def wall_clock_interval_ms(self) -> int:
        """How often the processor is called by the wall clock, in ms; 0: never."""
        return ms_of(self.processor.wall_clock_interval_ms)

    def store_calls(self) -> dict[str, tuple[int, int]]:
        """Return how often each store's rows were put and read by key."""
        return {rows.store: (rows.puts, rows.gets) for rows in self._stores if not rows.store.startswith("\x01")}

    def load(self, position: Position) -> None:
        """Start over from the table, at `position`; discard all changes that are not in the table.

        Raises:
            KindChanged: a store's rows were written in another format than it declares (see EngineSettings.on_change).
        """
        for rows in self._stores:
            rows.discard()
        self._kinds.load(self.table, position.stream_time)
        # A conversion puts rows as a record does. No record may undo them.
        self._journal.commit()
        self.timers.load(self.table)
        self.dedupe.load(self.table)
        self.position = position

    def settle(self, batch: int) -> None:
        """Continue after the commit numbered `batch`, whose changes are now in the table."""
        # First: it asks the rows which stores have changed, which they forget when they are settled.
        self._kinds.settle()
        for rows in self._stores:
            rows.settle()
        self.timers.settle()
        self.dedupe.settle(batch)

    def run(
        self,
        streams: Sequence[Iterable[Message]],
        clock: int,
        encoding: StateEncoding = StateEncoding.AT_END,
        bounds: Bounds = UNBOUNDED,
    ) -> list[int] | None:
        """Process a batch's records.

        Args:
            streams: one per input partition, each in offset order, sorted by (topic, partition); they are
                merged by event time (see `arrivals`). Lists, if the time is bounded.
            clock: the batch's clock (ms); event times beyond clock + max_future_ms, or that the changelogs don't take,
                are errors.

        Returns:
            None if all records were processed. If the time was over before, how many of each stream were.

        Raises:
            Unavailable: the batch can't be computed now. MemoryError: see `taken`.
        """
        assert not self._journal.entries, "effects of an earlier record are neither kept nor undone"
        result = self._result = BatchResult(outputs=self._reset_context(clock))
        self._encoding, self._bounds = encoding, bounds
        self._rooms.begin(clock)
        times = self._rooms.event_times(clock, self.settings.max_future_ms)
        seen, digest = self.dedupe.seen, self.dedupe.digest
        stream_time = self.position.stream_time
        context, deduping = self._context, self.settings.dedupe_retention_ms > 0
        timers, attempt = self.timers, self._attempt
        given = self._given = Streams(streams, blames_memory=bounds.blames_memory)
        # At least one record is processed, or else a slow record would never be committed.
        over, until, monotonic = math.inf, bounds.until, bounds.monotonic
        for message, key, event, timestamp, failure, ident_of in arrivals(
            given, self._plan, times, result.records_by_topic
        ):
            if monotonic() > over:
                return self._cut(streams, stream_time)
            over = until
            if failure is not None:
                self._report(message, failure, clock, ErrorStage.DECODE)
                continue
            now = timestamp if timestamp > stream_time else stream_time
            identity = None
            if deduping and ident_of is not None:
                try:
                    identity = None if (name := ident_of(event)) is None else digest(name)
                except _FAILURES as error:
                    self._raise_unless_blamed(error)
                    self._report(message, error, clock)
                    continue
                # Before stream time moves: an input that is replayed would otherwise close windows early.
                if identity is not None and seen(identity, now):
                    result.duplicates += 1
                    continue
            context.stream_time = now
            if now > context.closing_time:
                context.closing_time = now
            if timers.first <= context.closing_time:
                context.record_follows = True
                is_done = self._fire(clock)
                context.record_follows = False
                if not is_done:
                    return self._cut(streams, stream_time)
            # Stays even if the record is rejected below: timers have fired by this time, and would be due again.
            stream_time = now
            context.key, context.timestamp, context.message = key, timestamp, message
            # A record that failed may be sent again (`forebay errors replay`), and must not be taken for a duplicate
            # then.
            if attempt(message, event, clock) and identity is not None:
                self.dedupe.add(identity, now)
        self.position = Position(stream_time, self.position.closing_time)
        return None

    def taken(self) -> int:
        """Return how many records were processed before the one at which `run` raised MemoryError."""
        return sum(self._given.processed_counts())

    @property
    def progress(self) -> object:
        """What differs whenever a record, a timer or an output was added since it was last looked at."""
        context = self._context
        return context.message, context.key, len(context.outputs)

    def _cut(self, streams: Sequence[Iterable[Message]], stream_time: int) -> list[int]:
        """End a run before the record in hand; return how many records of each stream were processed."""
        self.position = Position(stream_time, self.position.closing_time)
        given, counts, names = self._given, self._result.records_by_topic, self._codecs.names
        processed = given.processed_counts()
        assert all(count >= 0 for count in processed), "records count as processed that were not given"
        for index, count in enumerate(processed):
            if count and index not in given.ended:
                topic: str = streams[index][0].topic()  # type: ignore[index]
                name = names.get(topic, topic)
                counts[name] = counts.get(name, 0) + count
        return processed

    def close(self, until: int, clock: int) -> bool:
        """Move the closing time on to `until` (ms), if it is not there yet, and fire what is due by then.

        Returns:
            Whether everything due was fired: if the time was over before, the closing time stays.
        """
        stream_time, closing_time = self.position.stream_time, max(self.position.closing_time, until)
        if stream_time < 0 or closing_time == self.position.closing_time:
            return True
        self._context.stream_time = stream_time
        self._context.closing_time = max(stream_time, closing_time)
        if not self._fire(clock):
            return False
        self.position = Position(stream_time, closing_time)
        return True

    def tick(self, idle_ms: int, clock: int) -> None:
        """Let idle time pass: move the closing time on (see `Processor.idle`) and fire what is due by then.

        A closing time that fires nothing is not kept.
        """
        if not self.is_due(idle_ms):
            return
        stream_time, closing_time = self.position.stream_time, self.position.closing_time
        idle_until = self._idle_until(idle_ms)
        self._context.stream_time = stream_time
        self._context.closing_time = max(closing_time, idle_until)
        fired = self._result.timers_fired
        self._fire(clock)
        # A task commits a position that differs. If idle time alone changed it, an idle task would commit in every
        # cycle.
        if self._result.timers_fired > fired:
            self.position = Position(stream_time, max(closing_time, idle_until))

    def is_due(self, idle_ms: int) -> bool:
        """Return whether a timer fires once the task has been idle for so long."""
        return self.position.stream_time >= 0 and idle_ms > 0 and self.timers.first <= self._idle_until(idle_ms)

    def next_due_ms(self) -> int | None:
        """Return the idle time (ms) after which the first timer fires; None: none is set."""
        idle, first = self.processor.idle, self.timers.first
        if self.position.stream_time < 0 or first >= NEVER:
            return None
        due = first - self.position.stream_time
        return due if idle is None or idle.after_ms <= 0 else min(due, idle.after_ms)

    def punctuate(self, now: int) -> None:
        """Call the processor's `on_wall_clock` at `now` (ms); a failure goes to .errors and undoes what it did."""
        context = self._context
        context.key, context.timestamp, context.message = "", now, None
        context.output_bytes_left = self.settings.max_output_bytes
        mark = len(context.outputs)
        try:
            self.processor.on_wall_clock(now, context)
            if self._encoding is StateEncoding.EACH:
                self._effects.check_puts()
        except _FAILURES as error:
            self._effects.undo(mark)
            self._raise_unless_blamed(error)
            self._report(TimerMessage(Timer(now, "wall clock", "")), error, now)
        else:
            self._effects.keep()

    def _idle_until(self, idle_ms: int) -> int:
        idle = self.processor.idle
        if idle is None or not 0 < idle.after_ms <= idle_ms:
            return self.position.stream_time + idle_ms
        return self.position.stream_time + max(idle_ms, idle.horizon_ms)

    def finish(self, batch: int) -> BatchResult:
        """Return the batch's result; `batch` is its number. Raises StoreEncodeError (see StateEncoding)."""
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
        result.conversions = list(self._kinds.conversions)
        changes.extend(self.timers.changes())
        changes.extend(self.dedupe.changes(batch))
        result.position = self.position
        return result

    def _reset_context(self, clock: int) -> list[Output]:
        context = self._context
        context.current_system_time = clock
        context.outputs = []
        context.timer_ops.clear()
        context.late_by = IN_TIME
        context.record_follows = False
        context.stream_time = self.position.stream_time
        context.closing_time = max(self.position.stream_time, self.position.closing_time)
        return context.outputs

    def _attempt(self, message: Message, event: Any, clock: int) -> bool:
        context = self._context
        context.output_bytes_left = self._most_output_bytes
        mark = len(context.outputs)
        try:
            if event is None:
                self.processor.removed(context.topic, context)
            else:
                self.processor.process(event, context)
            if self._encoding is StateEncoding.EACH:
                self._effects.check_puts()
        except LateRecord as late:
            self._effects.undo(mark)
            self._report_late(message, late.by_ms, clock)
            return False
        except _FAILURES as error:
            self._effects.undo(mark)
            self._raise_unless_blamed(error)
            self._report(message, error, clock)
            return False
        if context.late_by != IN_TIME:
            self._report_late(message, context.late_by, clock)
            context.late_by = IN_TIME
        # As `Effects.keep` does, without the call: most records set no timer.
        self._journal.entries.clear()
        if context.timer_ops:
            self._effects.keep()
        return True

    def _run_isolated(self, step: Callable[[], None]) -> None:
        """Run a step of the record in hand; if it fails, undo it and report the record; the other steps continue."""
        message = self._context.message
        if message is None:
            step()
        else:
            self._try(step, message)

    def _apart(self, timer: Timer, step: Callable[[TaskContext], None]) -> None:
        """Run a step as if a timer fired now: the record in hand is neither seen nor blamed, nor undone with it."""
        context = self._context
        before = context.message, context.key, context.timestamp, context.output_bytes_left, context.late_by
        context.message, context.key, context.timestamp = None, timer.key, timer.due
        context.output_bytes_left, context.late_by = self._most_output_bytes, IN_TIME

        def checked() -> None:
            step(context)
            self._check_in_time()

        try:
            self._try(checked, TimerMessage(timer))
        finally:
            context.message, context.key, context.timestamp, context.output_bytes_left, context.late_by = before

    def _check_in_time(self) -> None:
        if self._context.late_by != IN_TIME:
            raise RuntimeError("a timer has no record that could be late: call ctx.late() in process() only")

    def _try(self, step: Callable[[], None], message: Message) -> None:
        effects, clock = self._effects, self._context.current_system_time
        point = effects.savepoint()
        try:
            step()
            if self._encoding is StateEncoding.EACH:
                effects.check_puts(point.puts)
        except _FAILURES as error:
            effects.undo_since(point)
            if isinstance(error, LateRecord) and self._context.message is not None:
                self._context.late_by = max(self._context.late_by, error.by_ms)
                return
            self._raise_unless_blamed(error)
            self._report(message, error, clock)

    def _fire(self, clock: int) -> bool:
        """Fire the timers due by the context's closing time; return whether that were all of them.

        If the time is over, or if what was fired makes a commit too large, the others fire with the next commit.
        """
        context, fired, bounds = self._context, 0, self._bounds
        context.message = None
        try:
            while (timer := self.timers.pop_due(context.closing_time)) is not None:
                fired += 1
                context.key, context.timestamp = timer.key, timer.due
                context.output_bytes_left = self._most_output_bytes
                mark = len(context.outputs)
                try:
                    self.processor.on_timer(timer, context)
                    self._check_in_time()
                    if self._encoding is StateEncoding.EACH:
                        self._effects.check_puts()
                except _FAILURES as error:
                    self._effects.undo(mark)
                    self._raise_unless_blamed(error)
                    self._report(TimerMessage(timer), error, clock)
                else:
                    self._effects.keep()
                if bounds is not UNBOUNDED and (
                    bounds.monotonic() > bounds.until or len(context.outputs) > _MOST_FIRED_OUTPUTS
                ):
                    # The timer that was just fired may have been the last one that was due.
                    return self.timers.first > context.closing_time
        finally:
            self._result.timers_fired += fired
        return True

    def _raise_unless_blamed(self, error: BaseException) -> None:
        """Raise a failure again that is not the fault of the record or timer in hand."""
        if isinstance(error, Unavailable) or (isinstance(error, MemoryError) and not self._bounds.blames_memory):
            raise error

    def _report(self, message: Message, error: BaseException, clock: int, stage: str = ErrorStage.PROCESS) -> None:
        if isinstance(error, EncodeError):
            stage = ErrorStage.ENCODE
        service, room = self.settings.service, self._rooms.errors
        record = as_received(message, self._handed)
        self._result.errors.append(error_record(record, service, stage, error, clock, room))

    def _report_late(self, message: Message, by_ms: int, clock: int) -> None:
        stream_time, room = self._context.stream_time, self._rooms.late
        record = as_received(message, self._handed)
        self._result.late.append(late_record(record, by_ms, stream_time, clock, room))
