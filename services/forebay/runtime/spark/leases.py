"""A task group inside a worker of Spark: it holds leases and keeps snapshots."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from typing import Any

from forebay.kafka.librdkafka_log import end_when_starved
from forebay.runtime.errors import Unavailable
from forebay.runtime.logs import configure_logging
from forebay.runtime.memory import collect_seldom
from forebay.runtime.outliving import is_outliving, outlive
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.holder import States
from forebay.runtime.spec import JobSpec, recall_matches
from forebay.runtime.stateformat import TaskSnapshot, decode_state, encode_state
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.keeping import SnapshotKeeper
from forebay.runtime.task.runner import GroupRunner, LoopBusy
from forebay.runtime.task.snapshot import Place
from forebay.runtime.worker.build import build_group

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.1
_RETRY_SECONDS = 1.0

_RUNNERS: dict[tuple[str, str, int], GroupRunner] = {}
"""This worker's loops, by (application, checkpoint, group)."""

_CONTROLS: deque[WorkerControl] = deque(maxlen=1)
"""The control of the latest lease."""


def _is_working() -> bool:
    """Tell whether a loop of this worker works that has outlived its executor; one that nothing follows is ended."""
    control = next(iter(_CONTROLS), None)
    if control is not None and control.is_told_to_leave:
        for runner in _RUNNERS.values():
            runner.stop()
    return any(runner.is_working for runner in _RUNNERS.values())


class SparkBlocks:
    """One task's blocks (implements `BlockStorage`)."""

    def __init__(self, state: Any, place: Place) -> None:
        self._state = state
        self._place = place

    def get_block(self, number: int) -> bytes:
        row = self._state.getValue((*self._place, number))
        if row is None:
            raise KeyError(number)
        return bytes(row[0])

    def put_block(self, number: int, data: bytes) -> None:
        self._state.updateValue((*self._place, number), (data,))

    def delete_block(self, number: int) -> None:
        self._state.removeKey((*self._place, number))


class SparkStorage:
    """A group's snapshots in Spark's state (implements `GroupStorage`)."""

    def __init__(self, states: States) -> None:
        self._tasks, self._blocks = states

    def read(self, place: Place) -> TaskSnapshot | None:
        row = self._tasks.getValue(place)
        return None if row is None else decode_state(bytes(row[0]))

    def write(self, place: Place, snapshot: TaskSnapshot) -> None:
        self._tasks.updateValue(place, (encode_state(snapshot),))

    def blocks(self, place: Place) -> SparkBlocks:
        return SparkBlocks(self._blocks, place)


def hold(spec: JobSpec, lease: str, storage: SparkStorage) -> str:
    """Hold a lease until it is over; return the tasks' reports. Both are JSON."""
    configure_logging(spec.log_format)
    collect_seldom()
    end_when_starved()
    outlive(_is_working)
    return json.dumps(_Holding(spec, Lease.from_json(lease), storage).run())


class _Holding:
    """One lease from its beginning to its end."""

    def __init__(self, spec: JobSpec, lease: Lease, storage: SparkStorage) -> None:
        recall_matches(spec)
        self._spec = spec
        self._lease = lease
        self._storage = storage
        self._keeper = SnapshotKeeper(storage)
        self._ident = spec.application, lease.checkpoint, lease.group
        self._seconds = spec.limits.checkpoint_interval_ms / 1000
        self._begun = time.monotonic()
        self._control = WorkerControl.of(spec, lease)
        _CONTROLS.append(self._control)

    def run(self) -> list[str]:
        """Hold the lease; return the tasks' reports."""
        if self._control.is_told_to_end and not self._lease.restore:
            return []
        runner = self._opened()
        if runner is not None:
            try:
                self._hold(runner)
                if runner.is_alive:
                    self._keeper.write(runner)
            except Unavailable as error:
                log.warning("%s: no snapshot is written with this lease: %s", runner.group.settings.name, error)
            finally:
                runner.release()
            if runner.failure is not None:
                self._drop(runner)
                raise runner.failure
            if self._control.is_told_to_end:
                self._end(runner)
        return [] if runner is None else self._reports(runner)

    def _opened(self) -> GroupRunner | None:
        """Return the group's loop, running; None where the lease was over before it, or the broker, answered."""
        runner = _RUNNERS.get(self._ident)
        if runner is not None:
            goes_on = self._goes_on(runner)
            if goes_on is None:
                return None
            if goes_on:
                runner.renew(self._lease)
                return runner
            self._drop(runner)
        return self._made()

    def _goes_on(self, runner: GroupRunner) -> bool | None:
        """Tell whether the loop of the lease before can go on; None where it was busy until this one was over."""
        while runner.is_alive and not runner.is_stuck:
            try:
                return self._keeper.renew(runner)
            except LoopBusy as error:
                log.warning("%s: waiting for it", error)
                self._tell(runner, str(error))
                if self._is_over:
                    return None
        if runner.is_stuck:
            name = runner.group.settings.name
            log.warning("%s: its loop is stuck in a call to the broker: another takes its place", name)
        return False

    def _made(self) -> GroupRunner | None:
        """Return a loop made anew from Spark's state, running; None where the lease was over before."""
        told = ""
        while True:
            runner = build_group(self._spec, self._lease, self._storage)
            try:
                runner.start(self._lease)
            except Unavailable as error:
                if str(error) != told:
                    told = str(error)
                    log.warning("%s: %s: trying again until it answers", runner.group.settings.name, told)
                runner.stop()
                self._control.tell([task.figures for task in runner.group.tasks], now_ms(), str(error))
                time.sleep(_RETRY_SECONDS)
                if self._is_over:
                    return None
                continue
            _RUNNERS[self._ident] = runner
            return runner

    def _hold(self, runner: GroupRunner) -> None:
        while not self._is_over and not runner.finished.wait(_WAIT_SECONDS):
            if not runner.is_alive:
                return
            runner.hold()
            trouble = runner.trouble
            try:
                self._keeper.put_waiting(runner)
            except LoopBusy as error:
                trouble = str(error)
            self._tell(runner, trouble)

    def _tell(self, runner: GroupRunner, trouble: str) -> None:
        self._control.tell([task.figures for task in runner.group.tasks], runner.beat_ms, trouble)

    @property
    def _is_over(self) -> bool:
        """Whether the lease's time is up. One that restores lasts until its state is the checkpoint's own."""
        runner = _RUNNERS.get(self._ident)
        if self._lease.restore and runner is not None and not runner.group.is_taken_over(self._lease):
            return False
        if self._lease.until is None and time.monotonic() - self._begun >= self._seconds:
            return True
        return self._control.is_told_to_end

    def _end(self, runner: GroupRunner) -> None:
        """End a loop that was told to, unless other leases follow and this process may wait for them."""
        if self._control.is_followed and self._lease.until is None and is_outliving():
            runner.outlive()
        else:
            self._drop(runner)

    def _drop(self, runner: GroupRunner) -> None:
        _RUNNERS.pop(self._ident, None)
        runner.stop()

    def _reports(self, runner: GroupRunner) -> list[str]:
        reports = []
        for task in runner.group.tasks:
            task.figures.sign(now_ms())
            reports.append(task.figures.to_json())
        return reports
