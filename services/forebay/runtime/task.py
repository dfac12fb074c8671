"""The state task: one batch at a time from offset ranges to one committed transaction and one state update."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from forebay.processor.engine import BatchResult, Position, StateEncoding, TaskEngine
from forebay.processor.messages import Output
from forebay.runtime.batch import TaskBatch, TaskReport
from forebay.runtime.errors import StoreChanged, TaskTooLarge
from forebay.runtime.marker import Marker, Step, Stored, chain, check_replay, decide
from forebay.runtime.ports import Input, Sink, StateStorage
from forebay.runtime.stateformat import TaskState, decode_block, decode_state, encode_block, encode_state
from forebay.stores.blocklog import append, catch_up, split_changes
from forebay.stores.directory import Directory
from forebay.stores.kinds import KindChanged
from forebay.stores.rows import StoreEncodeError
from forebay.stores.table import NO_TAG, Change, Table

log = logging.getLogger(__name__)

DAY_MS = 86_400_000
LATENCY_SAMPLES = 50


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Limits of one task.

    Args:
        name: `<application>-<stage>-<task>`, used in errors and as transactional id.
        stage: number of the task's stage, reported.
        code_version: of library, logic and settings; only reported when a replay differs.
        max_state_bytes: bytes of the task's table above which the job stops.
        remark_after_ms: age at which an idle task's marker is committed again (group offsets expire).
    """

    name: str
    code_version: str
    stage: int = 0
    max_state_bytes: int = 4_000_000_000
    remark_after_ms: int = DAY_MS


@dataclass(frozen=True, slots=True)
class _Pending:
    """A batch whose Spark commit is not known yet: merged when the next batch presents its tag."""

    batch: int
    tag: bytes
    changes: list[Change]


class StateTask:
    """Runs batches of one task. Kept by its worker from batch to batch; believes only what the state's tag confirms."""

    def __init__(self, engine: TaskEngine, table: Table, source: Input, sink: Sink, settings: TaskSettings) -> None:
        self._engine = engine
        self._table = table
        self._source = source
        self._sink = sink
        self._settings = settings
        self._pending: _Pending | None = None
        self._loaded = False
        self.onward: list[Output] = []
        """What the last batch hands to the next stage."""

    def run(self, batch: TaskBatch, storage: StateStorage) -> TaskReport:
        """Process one batch: compute, commit to Kafka, then write the state.

        Raises:
            StopJob: the job must not go on. Unavailable: try again later. After any exception the next call
            starts over from the confirmed table.
        """
        report = TaskReport(stage=self._settings.stage, task=batch.task, batch=batch.batch)
        self.onward = []
        try:
            return self._run(batch, storage, report)
        except BaseException:
            self._loaded = False
            self._pending = None
            self._sink.discard()
            raise

    def _run(self, batch: TaskBatch, storage: StateStorage, report: TaskReport) -> TaskReport:
        with _timed(report, "state"):
            data = storage.read_state()
            state = None if data is None else decode_state(data)
        with _timed(report, "marker"):
            marker = self._sink.marker(batch.job)
        stored = None if state is None else Stored(state.job, state.batch, state.tag, state.code_version)
        step = decide(self._settings.name, batch.job, batch.batch, stored, marker)
        with _timed(report, "load"):
            self._synchronize(state, storage)
        with _timed(report, "process"):
            result, blocks = self._compute(batch)
        self.onward = result.onward
        report.step = step.value
        tag = chain(NO_TAG if state is None else state.tag, batch.batch, blocks, result)
        _describe(report, result, self._table)
        if step is Step.SUPPRESS:
            assert marker is not None
            check_replay(self._settings.name, tag, marker, self._settings.code_version)
            log.info(
                "%s: batch %d was committed before: computed again, not sent again", self._settings.name, batch.batch
            )
        elif result.is_empty and not self._marker_is_old(state, batch):
            report.step = "idle"
            return report
        else:
            with _timed(report, "commit"):
                new = Marker(
                    batch.job, batch.batch, result.position.stream_time, tag.hex(), self._settings.code_version
                )
                self._sink.commit(result, batch.ranges, new)
            report.latencies_ms = _latencies(result)
        with _timed(report, "state"):
            report.block_bytes = self._write(batch, storage, state, tag, blocks, result.position)
        self._pending = _Pending(batch.batch, tag, result.changes)
        return report

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
            read = catch_up(self._table, directory, storage, decode_block)
            if read:
                log.info("%s: read %d blocks, %d rows now", self._settings.name, read, len(self._table))
            try:
                self._engine.load(Position() if state is None else state.position)
            except KindChanged as error:
                raise StoreChanged(f"{self._settings.name}: {error}") from error
        self._loaded = True
        if self._table.size_bytes > self._settings.max_state_bytes:
            raise TaskTooLarge(
                f"{self._settings.name}: the task's state has {self._table.size_bytes} bytes, above the limit of "
                f"{self._settings.max_state_bytes} (max_state_bytes): use more tasks, a shorter retention, or raise it"
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
        self._engine.tick(batch.idle_ms, batch.clock)
        return self._engine.finish(batch.batch)

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
    ) -> int:
        directory = Directory() if state is None else state.directory
        written = append(directory, blocks, tag, self._table, encode_block)
        for number, data in written.put.items():
            storage.put_block(number, data)
        for number in written.delete:
            storage.delete_block(number)
        new = TaskState(
            job=batch.job,
            batch=batch.batch,
            tag=tag,
            code_version=self._settings.code_version,
            position=position,
            marked_at=batch.clock,
            rows=len(self._table),
            bytes=self._table.size_bytes,
            directory=written.directory,
        )
        storage.write_state(encode_state(new))
        return sum(map(len, written.put.values()))


def _describe(report: TaskReport, result: BatchResult, table: Table) -> None:
    report.outputs = len(result.outputs)
    report.errors = len(result.errors)
    report.late = len(result.late)
    report.duplicates = result.duplicates
    report.timers_fired = result.timers_fired
    report.changes = len(result.changes)
    report.conversions = [str(conversion) for conversion in result.conversions]
    report.stream_time = result.position.stream_time
    report.closing_time = result.position.closing_time
    report.state_rows = len(table) + _added_rows(result, table)
    report.state_bytes = table.size_bytes
    report.records_in = dict(result.records_by_topic)


def _added_rows(result: BatchResult, table: Table) -> int:
    added = 0
    for key, value in result.changes:
        known = table.get(key) is not None
        added += (value is not None) - known
    return added


def _latencies(result: BatchResult) -> list[int]:
    """Give the time from timestamp to now for up to LATENCY_SAMPLES outputs, spread over the batch."""
    now, outputs = time.time_ns() // 1_000_000, result.outputs
    step = max(1, len(outputs) // LATENCY_SAMPLES)
    return [max(0, now - output.timestamp) for output in outputs[::step]]


@contextmanager
def _timed(report: TaskReport, part: str) -> Iterator[None]:
    wall, cpu = time.perf_counter(), time.thread_time()
    try:
        yield
    finally:
        report.seconds[part] = report.seconds.get(part, 0.0) + time.perf_counter() - wall
        report.cpu_seconds[part] = report.cpu_seconds.get(part, 0.0) + time.thread_time() - cpu
