"""The state task: one batch at a time from offset ranges to one committed transaction and one state update."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from forebay.partitioner import Partitioner
from forebay.processor.engine import BatchResult, Position, StateEncoding, TaskEngine
from forebay.processor.handover import by_task
from forebay.processor.messages import Output
from forebay.runtime.batch import TaskBatch, TaskReport
from forebay.runtime.error_rate import NO_ERRORS, ErrorCount, check_error_rate
from forebay.runtime.errors import StateConflict, StoreChanged, TaskTooLarge
from forebay.runtime.marker import Marker, Step, Stored, chain, check_replay, decide
from forebay.runtime.ports import Changelog, Input, Sink, StateStorage
from forebay.runtime.reporting import describe, latencies, timed
from forebay.runtime.restore import agreed_position
from forebay.runtime.stateformat import TaskState, decode_block, decode_state, encode_block, encode_state
from forebay.stores.blocklog import append, catch_up, snapshot, split_changes
from forebay.stores.checksum import DamagedBlock
from forebay.stores.directory import Directory
from forebay.stores.kinds import KindChanged
from forebay.stores.rows import StoreEncodeError
from forebay.stores.table import NO_TAG, Change, Table

log = logging.getLogger(__name__)

DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Limits of one task.

    Args:
        name: `<application>-<stage>-<task>`, used in errors and as transactional id.
        stage: number of the task's stage, reported.
        code_version: of library, logic and settings; only reported when a replay differs.
        max_state_bytes: bytes of the task's state above which the job stops.
        max_error_rate: share of the latest records that may fail; 1: any.
        remark_after_ms: age at which an idle task's marker is committed again (group offsets expire).
    """

    name: str
    code_version: str
    stage: int = 0
    max_state_bytes: int = 4_000_000_000
    max_error_rate: float = 1.0
    remark_after_ms: int = DAY_MS


@dataclass(frozen=True, slots=True)
class _Pending:
    """A batch whose Spark commit is not known yet: merged when the next batch presents its tag."""

    batch: int
    tag: bytes
    changes: list[Change]


class StateTask:
    """Runs batches of one task. Kept by its worker from batch to batch; believes only what the state's tag confirms.

    Args:
        changelog: what a batch that restores takes the state from.
        partitioner: of a task with a stage behind it: tells which of its tasks gets a key.
    """

    def __init__(
        self,
        engine: TaskEngine,
        table: Table,
        source: Input,
        sink: Sink,
        changelog: Changelog,
        settings: TaskSettings,
        partitioner: Partitioner | None = None,
    ) -> None:
        self._engine = engine
        self._table = table
        self._source = source
        self._sink = sink
        self._changelog = changelog
        self._settings = settings
        self._partitioner = partitioner
        self._pending: _Pending | None = None
        self._loaded = False
        self.onward: list[list[Output]] = []
        """What the last batch hands to each task of the next stage."""

    def run(self, batch: TaskBatch, storage: StateStorage) -> TaskReport:
        """Process one batch: compute, commit to Kafka, then write the state.

        Raises:
            StopJob: the job must not go on. Unavailable: try again later. After any exception the next call
            starts over from the confirmed table.
        """
        report = TaskReport(stage=self._settings.stage, task=batch.task, batch=batch.batch)
        self.onward = self._by_task([])
        try:
            return self._run(batch, storage, report)
        except BaseException:
            self._loaded = False
            self._pending = None
            self._sink.discard()
            raise

    def _run(self, batch: TaskBatch, storage: StateStorage, report: TaskReport) -> TaskReport:
        with timed(report, "state"):
            data = storage.read_state()
            state = None if data is None else decode_state(data)
        if batch.restore:
            return self._restore(batch, storage, report)
        with timed(report, "marker"):
            marker = self._sink.marker(batch.job, batch.batch)
        stored = None if state is None else Stored(state.job, state.batch, state.tag, state.code_version)
        step = decide(self._settings.name, batch.job, batch.batch, stored, marker)
        with timed(report, "load"):
            self._synchronize(state, storage)
        with timed(report, "process"):
            result, blocks = self._compute(batch)
        self.onward = self._by_task(result.onward)
        report.step = step.value
        tag = chain(NO_TAG if state is None else state.tag, batch.batch, blocks, result)
        describe(report, result, self._table)
        recent = (NO_ERRORS if state is None else state.recent).after(result)
        if step is Step.SUPPRESS:
            assert marker is not None
            check_replay(self._settings.name, tag, marker, self._settings.code_version)
            log.info(
                "%s: batch %d was committed before: computed again, not sent again", self._settings.name, batch.batch
            )
        elif result.is_empty and not self._moves_time(state, result) and not self._marker_is_old(state, batch):
            report.step = "idle"
            return report
        else:
            check_error_rate(self._settings.name, batch.batch, recent, result, self._settings.max_error_rate)
            with timed(report, "commit"):
                self._sink.commit(result, batch.ranges, self._marker(batch, tag, result.position))
            report.latencies_ms = latencies(result)
        with timed(report, "state"):
            report.block_bytes = self._write(batch, storage, state, tag, blocks, result.position, recent.faded())
        self._pending = _Pending(batch.batch, tag, result.changes)
        return report

    def _restore(self, batch: TaskBatch, storage: StateStorage, report: TaskReport) -> TaskReport:
        """Take the state from the changelogs, under this checkpoint's name; run again it does the same again."""
        with timed(report, "marker"):
            marker = self._sink.marker(batch.job, batch.batch, take_over=True)
        with timed(report, "load"):
            found = self._changelog.restore(self._table)
        found = agreed_position(self._settings.name, self._settings.stage, batch, found, marker)
        report.step = "restore"
        if found is None:
            return report
        closing_time = found.marker.closing_time
        position = Position(found.marker.stream_time, -1 if closing_time is None else closing_time)
        tag = bytes.fromhex(found.marker.tag)
        if found.marker.job != batch.job:
            result = BatchResult(position=position)
            tag = chain(tag, batch.batch, (), result)
            with timed(report, "commit"):
                self._sink.commit(result, batch.ranges, self._marker(batch, tag, position))
        self._table.apply((), tag)
        with timed(report, "state"):
            directory = snapshot(self._table, tag, encode_block, storage.put_block)
            self._write_state(batch, storage, tag, position, directory)
        self._loaded = False
        report.stream_time, report.closing_time = position.stream_time, position.closing_time
        report.state_rows, report.state_bytes = len(self._table), self._table.size_bytes
        return report

    def _marker(self, batch: TaskBatch, tag: bytes, position: Position) -> Marker:
        return Marker(
            job=batch.job,
            batch=batch.batch,
            stream_time=position.stream_time,
            tag=tag.hex(),
            code_version=self._settings.code_version,
            closing_time=position.closing_time,
            handed_to=sum(1 << task for task, block in enumerate(self.onward) if block),
        )

    def _by_task(self, onward: list[Output]) -> list[list[Output]]:
        return [] if self._partitioner is None else by_task(onward, self._partitioner)

    def _synchronize(self, state: TaskState | None, storage: StateStorage) -> None:
        directory = Directory() if state is None else state.directory
        pending, self._pending = self._pending, None
        confirmed = pending is not None and directory.after(pending.tag) is not None
        if pending is not None and confirmed:
            self._table.apply(pending.changes, pending.tag)
        if self._loaded and self._table.tag == directory.tag and (pending is None or confirmed):
            if pending is not None:
                self._engine.settle(pending.batch)
        else:
            try:
                read = catch_up(self._table, directory, storage, decode_block)
            except DamagedBlock as error:
                raise StateConflict(f"{self._settings.name}: {error}") from error
            if read:
                log.info("%s: read %d blocks, %d rows now", self._settings.name, read, len(self._table))
            try:
                self._engine.load(Position() if state is None else state.position)
            except KindChanged as error:
                raise StoreChanged(f"{self._settings.name}: {error}") from error
        self._loaded = True
        taken = self._engine.footprint_bytes
        if taken > self._settings.max_state_bytes:
            raise TaskTooLarge(
                f"{self._settings.name}: the task's state takes {taken} bytes ({len(self._table)} rows of "
                f"{self._table.size_bytes}), above the limit of {self._settings.max_state_bytes} (max_state_bytes): "
                "use more tasks, a shorter retention, persistent tables, more memory, or raise it"
            )

    def _compute(self, batch: TaskBatch) -> tuple[BatchResult, list[bytes]]:
        position = self._engine.position
        try:
            result = self._attempt(batch, StateEncoding.AT_END)
        except StoreEncodeError as error:
            log.warning("%s: batch %d: %s: looking for the record", self._settings.name, batch.batch, error)
            self._engine.load(position)
            result = self._attempt(batch, StateEncoding.EACH)
        return result, [encode_block(part) for part in split_changes(result.changes)]

    def _attempt(self, batch: TaskBatch, encoding: StateEncoding) -> BatchResult:
        self._engine.run(self._source.read(batch.ranges), batch.clock, encoding)
        if batch.close_until >= 0:
            self._engine.close(batch.close_until, batch.clock)
        else:
            self._engine.tick(batch.idle_ms, batch.clock)
        return self._engine.finish(batch.batch)

    def _moves_time(self, state: TaskState | None, result: BatchResult) -> bool:
        return result.position != (Position() if state is None else state.position)

    def _marker_is_old(self, state: TaskState | None, batch: TaskBatch) -> bool:
        return state is not None and batch.clock - state.marked_at >= self._settings.remark_after_ms

    def _write(
        self,
        batch: TaskBatch,
        storage: StateStorage,
        state: TaskState | None,
        tag: bytes,
        blocks: list[bytes],
        position: Position,
        recent: ErrorCount,
    ) -> int:
        directory = Directory() if state is None else state.directory
        written = append(directory, blocks, tag, self._table, encode_block)
        for number, data in written.put.items():
            storage.put_block(number, data)
        for number in written.delete:
            storage.delete_block(number)
        self._write_state(batch, storage, tag, position, written.directory, recent)
        return sum(map(len, written.put.values()))

    def _write_state(
        self,
        batch: TaskBatch,
        storage: StateStorage,
        tag: bytes,
        position: Position,
        directory: Directory,
        recent: ErrorCount = NO_ERRORS,
    ) -> None:
        new = TaskState(
            job=batch.job,
            batch=batch.batch,
            tag=tag,
            code_version=self._settings.code_version,
            position=position,
            marked_at=batch.clock,
            rows=len(self._table),
            bytes=self._table.size_bytes,
            directory=directory,
            recent=recent,
        )
        storage.write_state(encode_state(new))
