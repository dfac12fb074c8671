"""The engine of one state task: records in order, timers, dedupe, atomic effects. Pure: no Spark, no Kafka."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from forebay.codec import Codec, EncodeError, Unavailable
from forebay.formats import Format, key_reader, key_writer
from forebay.processor.api import AnyProcessor, LateRecord
from forebay.processor.arrivals import Plan, TimerMessage, arrivals
from forebay.processor.context import IN_TIME, TaskContext
from forebay.processor.dedupe import Dedupe
from forebay.processor.messages import ErrorStage, Message, Output, SideRecord, error_record, late_record
from forebay.processor.timers import Timers
from forebay.stores.binding import Store, TaskStores
from forebay.stores.kinds import Kinds, OnChange
from forebay.stores.rows import Journal
from forebay.stores.table import Change, Table
from forebay.stores.upgrade import Conversion


class Emit(Enum):
    """Which of a key's outputs leave a batch.

    LATEST is a cache in front of the outputs that hold a table's rows (Codecs.table_outputs): the last row of a key
    leaves. A stream's records all leave.
    """

    EVERY = "every"
    LATEST = "latest"


class StateEncoding(Enum):
    """When put values are encoded.

    AT_END is cheap: once per row and batch. EACH finds the record that put what can't be encoded; a batch
    that fails AT_END is computed again with EACH.
    """

    AT_END = "at end"
    EACH = "each"


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """How a task treats its records.

    Args:
        service: named in errors.
        emit: every output, or of tables the last row per key and batch.
        dedupe_retention_ms: stream time for which event ids are remembered; 0 switches it off.
        max_future_ms: how far an event time may lie ahead of the batch's clock.
        max_record_bytes: largest output value.
        cached_objects: decoded rows kept per store from batch to batch.
        on_change: what to do with a store's rows when it is declared otherwise than they were written.
    """

    service: str
    emit: Emit = Emit.EVERY
    dedupe_retention_ms: int = 600_000
    max_future_ms: int = 3_600_000
    max_record_bytes: int = 1_000_000
    cached_objects: int = 50_000
    on_change: OnChange = OnChange.REFUSE


@dataclass(frozen=True, slots=True)
class Codecs:
    """The codecs of one task.

    Args:
        inputs: by topic, and by name of each repartition that is read.
        stores: by name.
        outputs: by topic; the first is the default.
        onward: by name of each repartition that is sent to; the first is the default where there is one.
        tables: inputs in which a record without value deletes its key.
        nullable: inputs whose records may have neither key nor value.
        timeless: inputs whose records move no time: global tables.
        keys: formats of keys by input, repartition and output; text unless named.
        table_outputs: outputs that hold a table's rows, so that the last of a key stands for those before.
    """

    inputs: Mapping[str, Codec[Any]]
    stores: Mapping[str, Codec[Any]]
    outputs: Mapping[str, Codec[Any]]
    onward: Mapping[str, Codec[Any]] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()
    nullable: frozenset[str] = frozenset()
    timeless: frozenset[str] = frozenset()
    keys: Mapping[str, Format[Any]] = field(default_factory=dict)
    table_outputs: frozenset[str] = frozenset()

    @property
    def targets(self) -> Mapping[str, Codec[Any]]:
        """Whatever can be forwarded to, the default first."""
        return {**self.onward, **self.outputs}


@dataclass(frozen=True, slots=True)
class Position:
    """Where a task's time stands, in ms; -1 before the first record."""

    stream_time: int = -1
    closing_time: int = -1


@dataclass(slots=True)
class BatchResult:
    """What one batch of a task gives: records to send and rows to change.

    `onward` holds what the next stage is handed; `outputs` what goes to topics.
    """

    outputs: list[Output] = field(default_factory=list)
    onward: list[Output] = field(default_factory=list)
    errors: list[SideRecord] = field(default_factory=list)
    late: list[SideRecord] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    conversions: list[Conversion] = field(default_factory=list)
    records_by_topic: dict[str, int] = field(default_factory=dict)
    duplicates: int = 0
    timers_fired: int = 0
    position: Position = Position()

    @property
    def is_empty(self) -> bool:
        """Whether nothing happened that must be kept."""
        return not (self.records_by_topic or self.outputs or self.onward or self.errors or self.late or self.changes)


class TaskEngine:
    """Runs a processor over one task's batches.

    Between batches call `settle` when the last result was accepted and applied to the table, `load` otherwise.

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
        write_keys, read_keys = _key_writers(codecs.keys), _key_readers(codecs.keys)
        self._context = TaskContext(targets, next(iter(targets)), settings.max_record_bytes, write_keys)
        self._plan = Plan(codecs.inputs, read_keys, codecs.tables, codecs.nullable, codecs.timeless, processor)
        lent = TaskStores(table, self._journal, self._context, settings.cached_objects)
        stores = _bind_stores(processor, codecs, lent)
        self._stores = lent.opened
        self._kinds = Kinds(settings.service, stores, lent, codecs.stores, settings.on_change)
        processor.opened()
        self.timers = Timers()
        self.dedupe = Dedupe(settings.dedupe_retention_ms)
        self.position = Position()
        self._result = BatchResult()

    def load(self, position: Position) -> None:
        """Start over from the table, at `position`: whatever is not in the table is forgotten.

        Raises:
            KindChanged: a store is declared otherwise than its rows were written (see EngineSettings.on_change).
        """
        for rows in self._stores:
            rows.discard()
        self._kinds.load(self.table, position.stream_time)
        self._journal.commit()
        self.timers.load(self.table)
        self.dedupe.load(self.table)
        self.position = position

    def settle(self, batch: int) -> None:
        """Go on after the batch numbered `batch`, whose changes are now in the table."""
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
    ) -> None:
        """Process a batch's records.

        Args:
            streams: one per input partition, each in offset order, sorted by (topic, partition); they are
                merged by event time, ties by their order here.
            clock: the batch's clock (ms); event times beyond clock + max_future_ms are errors.

        Raises:
            Unavailable: the batch can't be computed now.
        """
        result = self._result = BatchResult(outputs=self._reset_context())
        limit = clock + self.settings.max_future_ms
        seen, digest = self.dedupe.seen, self.dedupe.digest
        stream_time = self.position.stream_time
        context, deduping = self._context, self.settings.dedupe_retention_ms > 0
        for message, key, event, timestamp, failure, ident in arrivals(
            streams, self._plan, limit, result.records_by_topic
        ):
            if failure is not None:
                result.errors.append(error_record(message, self.settings.service, ErrorStage.DECODE, failure, clock))
                continue
            now = timestamp if timestamp > stream_time else stream_time
            identity = None
            if deduping and ident is not None:
                identity = digest(ident)
                if seen(identity, now):
                    result.duplicates += 1
                    continue
            stream_time = now
            context.stream_time = now
            if now > context.closing_time:
                context.closing_time = now
            if self.timers.first <= context.closing_time:
                self._fire(clock)
            context.key, context.timestamp, context.message = key, timestamp, message
            if self._attempt(message, event, clock, encoding) and identity is not None:
                self.dedupe.add(identity, now)
        self.position = Position(stream_time, self.position.closing_time)

    def close(self, until: int, clock: int) -> None:
        """Move the closing time on to `until` (ms), if it is not there yet, and fire what is due by then."""
        stream_time, closing_time = self.position.stream_time, max(self.position.closing_time, until)
        if stream_time < 0 or closing_time == self.position.closing_time:
            return
        self._context.stream_time = stream_time
        self._context.closing_time = max(stream_time, closing_time)
        self._fire(clock)
        self.position = Position(stream_time, closing_time)

    def tick(self, idle_ms: int, clock: int) -> None:
        """Let idle time pass: move the closing time on (see `Processor.idle`) and fire what is due by then.

        A closing time that fires nothing is not kept.
        """
        stream_time, closing_time = self.position.stream_time, self.position.closing_time
        idle_until = self._idle_until(idle_ms)
        if stream_time < 0 or idle_ms <= 0 or self.timers.first > idle_until:
            return
        self._context.stream_time = stream_time
        self._context.closing_time = max(closing_time, idle_until)
        if self._fire(clock):
            self.position = Position(stream_time, max(closing_time, idle_until))

    def _idle_until(self, idle_ms: int) -> int:
        idle = self.processor.idle
        if idle is None or not 0 < idle.after_ms <= idle_ms:
            return self.position.stream_time + idle_ms
        return self.position.stream_time + max(idle_ms, idle.horizon_ms)

    def finish(self, batch: int) -> BatchResult:
        """Give the batch's result; `batch` is its number. Raises StoreEncodeError (see StateEncoding)."""
        result = self._result
        onward = self._codecs.onward
        if onward:
            result.onward = [output for output in result.outputs if output.target in onward]
            result.outputs = [output for output in result.outputs if output.target not in onward]
        if self.settings.emit is Emit.LATEST and self._codecs.table_outputs:
            result.outputs = _latest(result.outputs, self._codecs.table_outputs)
        changes = result.changes = []
        for rows in self._stores:
            changes.extend(rows.changes())
        changes.extend(self._kinds.changes())
        result.conversions = list(self._kinds.conversions)
        changes.extend(self.timers.changes())
        changes.extend(self.dedupe.changes(batch))
        result.position = self.position
        return result

    def _reset_context(self) -> list[Output]:
        context = self._context
        context.outputs = []
        context.timer_ops.clear()
        context.late_by = IN_TIME
        context.stream_time = self.position.stream_time
        context.closing_time = max(self.position.stream_time, self.position.closing_time)
        return context.outputs

    def _attempt(self, message: Message, event: Any, clock: int, encoding: StateEncoding) -> bool:
        mark = len(self._context.outputs)
        try:
            if event is None:
                self.processor.removed(message.topic(), self._context)
            else:
                self.processor.process(event, self._context)
            if encoding is StateEncoding.EACH:
                self._check_puts()
        except (Unavailable, MemoryError):
            raise
        except LateRecord as late:
            self._undo(mark)
            self._result.late.append(late_record(message, late.by_ms, self._context.stream_time, clock))
            return False
        except Exception as error:
            self._undo(mark)
            stage = ErrorStage.ENCODE if isinstance(error, EncodeError) else ErrorStage.PROCESS
            self._result.errors.append(error_record(message, self.settings.service, stage, error, clock))
            return False
        if self._context.late_by != IN_TIME:
            self._result.late.append(late_record(message, self._context.late_by, self._context.stream_time, clock))
            self._context.late_by = IN_TIME
        self._keep()
        return True

    def _fire(self, clock: int) -> int:
        context, fired = self._context, 0
        context.message = None
        while (timer := self.timers.pop_due(context.closing_time)) is not None:
            fired += 1
            context.key, context.timestamp = timer.key, timer.due
            mark = len(context.outputs)
            try:
                self.processor.on_timer(timer, context)
                if context.late_by != IN_TIME:
                    raise RuntimeError("a timer has no record that could be late: call ctx.late() in process() only")
            except (Unavailable, MemoryError):
                raise
            except Exception as error:
                self._undo(mark)
                failed = TimerMessage(timer)
                self._result.errors.append(
                    error_record(failed, self.settings.service, ErrorStage.PROCESS, error, clock)
                )
            else:
                self._keep()
        self._result.timers_fired += fired
        return fired

    def _check_puts(self) -> None:
        for rows, key, _, _ in self._journal.entries:
            rows.check(key)

    def _keep(self) -> None:
        self._journal.entries.clear()
        ops = self._context.timer_ops
        if ops:
            for name, key, due in ops:
                if due is None:
                    self.timers.cancel(name, key)
                else:
                    self.timers.schedule(name, key, due)
            ops.clear()

    def _undo(self, mark: int) -> None:
        self._journal.roll_back()
        self._context.timer_ops.clear()
        self._context.late_by = IN_TIME
        del self._context.outputs[mark:]


def _key_readers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[bytes], str]]:
    return {name: key_reader(kind) for name, kind in keys.items() if not kind.is_text}


def _key_writers(keys: Mapping[str, Format[Any]]) -> dict[str, Callable[[str], bytes]]:
    return {name: key_writer(kind) for name, kind in keys.items() if not kind.is_text}


def _latest(outputs: list[Output], tables: frozenset[str]) -> list[Output]:
    """Leave out the rows of `tables` that a later one of their key replaces."""
    last = {(output.target, output.key): index for index, output in enumerate(outputs) if output.target in tables}
    return [o for i, o in enumerate(outputs) if o.target not in tables or last[o.target, o.key] == i]


def declared_stores(processor: AnyProcessor | type[AnyProcessor]) -> Iterator[tuple[str, Store[Any]]]:
    """Give (attribute, declaration) of every store of a processor, in order of declaration."""
    kind = processor if isinstance(processor, type) else type(processor)
    found: dict[str, Store[Any]] = {}
    for holder in (*reversed(kind.__mro__), *(() if isinstance(processor, type) else (processor,))):
        found.update((name, declared) for name, declared in vars(holder).items() if isinstance(declared, Store))
    names: set[str] = set()
    for attribute, declared in found.items():
        if declared.name in names:
            raise ValueError(
                f"{kind.__name__} declares the store {declared.name!r} twice: give each store its own name"
            )
        names.add(declared.name)
        yield attribute, declared


def _bind_stores(processor: AnyProcessor, codecs: Codecs, lent: TaskStores) -> list[Store[Any]]:
    bound = {
        attribute: declared.bind(lent, codecs.stores[declared.name])
        for attribute, declared in declared_stores(processor)
    }
    for attribute, store in bound.items():
        setattr(processor, attribute, store)
    return list(bound.values())
