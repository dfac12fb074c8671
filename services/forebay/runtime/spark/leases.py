"""A task group inside a worker of Spark: it holds leases and keeps snapshots.

Spark hands a lease to any idle worker of an executor. If the group's loop runs in another worker, the lease is passed
on to that worker.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from multiprocessing.connection import Connection

from forebay.kafka.librdkafka_log import end_when_starved
from forebay.runtime.errors import GroupFenced, Unavailable
from forebay.runtime.process.logs import configure_logging
from forebay.runtime.process.memory import collect_seldom
from forebay.runtime.process.outliving import is_outliving, outlive
from forebay.runtime.process.watchdog import die_when_silent
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.snapshots.opening import open_storage
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spark.loops import Loops, Want
from forebay.runtime.spark.passing import Giver, OtherWorker, ThisWorker, WorkerGone, pass_on
from forebay.runtime.spark.siblings import answered, connections, listen
from forebay.runtime.spec import JobSpec, recall_matches
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.figures import TaskFigures
from forebay.runtime.task.keeping import ALL_SECONDS
from forebay.runtime.task.runner import ANSWER_SECONDS, GroupRunner, LoopBusy
from forebay.runtime.worker.broker_clock import broker_clock, look_again
from forebay.runtime.worker.build import build_group

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.1
_RETRY_SECONDS = 1.0
_SENDING_SECONDS = 120.0
"""How long the loop continues while blocks are sent in mid-lease: the store may not answer."""
_STORE_SECONDS = 5.0
"""How long to wait before a store of snapshots that failed is asked again."""

_ROOM_SECONDS = 2.0
"""How long a worker that has a loop looks for one that has none. An executor holds all of its groups' leases at a time,
each in a worker of its own: one that has none is there, or about to be."""

_LOOPS = Loops()
"""This worker's loops."""

_CONTROLS: deque[WorkerControl] = deque(maxlen=1)
"""The control of the latest lease."""


def _is_working() -> bool:
    """Return whether a loop of this worker works that has outlived its executor; one that nothing follows is ended."""
    control = next(iter(_CONTROLS), None)
    if control is not None and control.is_told_to_leave:
        for runner in _LOOPS.all():
            runner.stop()
    return any(runner.is_working for runner in _LOOPS.all())


def hold(spec: JobSpec, lease: str) -> str:
    """Hold a lease until it is over; return the tasks' reports. Both are JSON."""
    configure_logging(spec.log_format)
    collect_seldom()
    end_when_starved()
    die_when_silent()
    outlive(_is_working)
    _listen()
    return json.dumps(_held(spec, Lease.from_json(lease)))


@cache
def _listen() -> None:
    listen(_hold_for)


def _hold_for(connection: Connection) -> None:
    """Hold the lease that another worker was given, if this is the worker that it looks for."""
    with connection, suppress(EOFError, OSError):  # the other one has ended
        ident, want = connection.recv()
        claim = _LOOPS.claim(ident, want)
        if claim is None:
            connection.send(False)
            return
        with claim as turn:
            # Before its turn: who asks waits for the one that has the group, however long that is busy with it.
            connection.send(True)
            spec, lease, begun = connection.recv()
            giver = OtherWorker(connection)
            outlive(_is_working)
            with giver.heartbeats(), turn:
                try:
                    giver.end(_Holding(spec, lease, giver, begun).run())
                except Exception as error:  # whatever ends a lease
                    giver.fail(error)


def _held(spec: JobSpec, lease: Lease) -> list[str]:
    """Hold a lease where its group's loop runs; if that is nowhere in this executor, where no other loop does."""
    ident = spec.application, lease.checkpoint, lease.group
    # Whoever takes it up after another: it ends when the other groups' leases do, which wait for it in Spark's batch.
    begun = time.monotonic()
    silent: set[str] = set()
    for want in _wants():
        claim = _LOOPS.claim(ident, want)
        if claim is not None:
            with claim as turn, turn:
                return _Holding(spec, lease, ThisWorker(), begun).run()
        for name, connection in connections(but=silent):
            with connection:
                answer = answered(connection, (ident, want))
                if answer is None:
                    silent.add(name)
                if not answer:
                    continue
                try:
                    return pass_on(connection, (spec, lease, begun))
                except WorkerGone as error:
                    log.warning("%s: %s: another opens the group", spec.transactional_id(lease.group), error)
    raise AssertionError("any worker can hold a lease")


def _wants() -> Iterator[Want]:
    """Return which worker to look for, one look after the other."""
    yield Want.LOOP
    deadline = time.monotonic() + _ROOM_SECONDS
    yield Want.ROOM
    while time.monotonic() < deadline:
        time.sleep(_WAIT_SECONDS)
        yield Want.ROOM
    yield Want.ANY


class _Holding:
    """One lease from its beginning to its end.

    Args:
        giver: the worker that Spark gave it.
        begun: when that worker was given it, by the monotonic clock.
    """

    def __init__(self, spec: JobSpec, lease: Lease, giver: Giver, begun: float) -> None:
        recall_matches(spec)
        self._spec = spec
        self._lease = lease
        self._giver = giver
        self._ident = spec.application, lease.checkpoint, lease.group
        self._seconds = spec.limits.checkpoint_interval_ms / 1000
        self._begun = begun
        self._trouble = ""
        self._next_put = float("-inf")
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
                if runner.is_alive and not self._giver.is_gone:
                    self._write(runner)
            except Unavailable as error:
                log.warning("%s: no snapshot is written with this lease: %s", runner.group.settings.name, error)
            finally:
                if self._giver.is_gone:
                    runner.lose()
                else:
                    runner.release()
            if runner.failure is not None:
                _LOOPS.drop(self._ident)
                raise runner.failure
            if self._control.is_told_to_end:
                self._end(runner)
        return [] if runner is None else self._reports(runner)

    def _opened(self) -> GroupRunner | None:
        """Return the group's loop, running; None if the lease ended before the broker answered."""
        runner = _LOOPS.get(self._ident)
        if runner is not None:
            if runner.is_alive and not runner.is_stuck and runner.belongs_to == self._origin:
                # If another worker has taken over the group since, the loop's next commit fails.
                runner.renew(self._lease)
                return runner
            if runner.is_stuck:
                name = runner.group.settings.name
                log.warning("%s: its loop is stuck in a call to the broker: another takes its place", name)
            _LOOPS.drop(self._ident)
        return self._start()

    @property
    def _origin(self) -> object:
        """What a loop must be built for. Its clients may take minutes to learn of a topic's new partitions."""
        shape = {topic: len(offsets) for topic, offsets in self._lease.start.items()}
        return self._spec.checkpoint, shape

    def _start(self) -> GroupRunner | None:
        """Return a new loop, running, that begins with the snapshots; None if the lease ended before."""
        logged = ""
        while True:
            runner: GroupRunner | None = None
            try:
                runner = build_group(self._spec, self._lease, open_storage(self._spec, self._lease))
                runner.belongs_to = self._origin
                figures = [task.figures for task in runner.group.tasks]
                if self._control.tell(figures, now_ms(), asynchronous=False):
                    # The records that it reads first are judged by it.
                    broker_clock(self._spec).look()
                runner.start(self._lease)
            except GroupFenced:
                if runner is not None:
                    runner.stop()
                raise
            except Unavailable as error:
                if str(error) != logged:
                    logged = str(error)
                    name = self._spec.transactional_id(self._lease.group)
                    log.warning("%s: %s: trying again until it answers", name, logged)
                if runner is not None:
                    runner.stop()
                    self._control.tell([task.figures for task in runner.group.tasks], now_ms(), str(error))
                time.sleep(_RETRY_SECONDS)
                if self._is_over:
                    return None
                continue
            _LOOPS.put(self._ident, runner)
            return runner

    def _hold(self, runner: GroupRunner) -> None:
        while not self._is_over and not runner.finished.wait(_WAIT_SECONDS):
            if not runner.is_alive:
                return
            runner.hold()
            trouble = runner.trouble
            if time.monotonic() >= self._next_put:
                self._trouble = self._put_waiting(runner)
            self._tell(runner, trouble or self._trouble or runner.keeper.trouble)
            look_again(self._spec.application)

    def _write(self, runner: GroupRunner) -> None:
        """Write the snapshots. Raises Unavailable."""
        ends = self._lease.until is not None or self._lease.restore
        runner.hold(ALL_SECONDS)
        runner.keeper.write(runner, ALL_SECONDS if ends else ANSWER_SECONDS)

    def _put_waiting(self, runner: GroupRunner) -> str:
        """Put rows that wait for the next snapshot; return what hinders it, or ""."""
        runner.hold(_SENDING_SECONDS)
        try:
            runner.keeper.put_waiting(runner)
        except LoopBusy as error:
            return str(error)
        except Unavailable as error:
            self._next_put = time.monotonic() + _STORE_SECONDS
            return str(error)
        return ""

    def _tell(self, runner: GroupRunner, trouble: str) -> None:
        self._control.tell(_measured_figures(runner), runner.beat_ms, trouble)

    @property
    def _is_over(self) -> bool:
        """Whether the lease's time is up. One that restores lasts until its state is the checkpoint's own."""
        if self._giver.is_gone:
            return True
        runner = _LOOPS.get(self._ident)
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
            _LOOPS.drop(self._ident)

    def _reports(self, runner: GroupRunner) -> list[str]:
        reports = []
        for figures in _measured_figures(runner):
            figures.sign(now_ms())
            reports.append(figures.to_json())
        return reports


def _measured_figures(runner: GroupRunner) -> Iterator[TaskFigures]:
    """Measure the lag, then yield the statistics of all tasks. A generator: the lag is measured only for a report."""
    runner.group.measure_lag()
    for task in runner.group.tasks:
        yield task.figures
