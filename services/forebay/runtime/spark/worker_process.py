"""The worker process that holds leases: its loops, its connection to the control group, its executor."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Collection, MutableMapping

from forebay.runtime.protocol.lease import Lease
from forebay.runtime.snapshots.opening import open_storage
from forebay.runtime.spark.control import WorkerControl
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.runner import GroupRunner
from forebay.runtime.worker.broker_clock import broker_clock
from forebay.runtime.worker.build import build_group

GroupKey = tuple[str, str, int]
"""Application, checkpoint, group."""

_LOOPS: dict[GroupKey, GroupRunner] = {}
"""This worker's loops: that of the current lease, and those of earlier leases until other workers take over."""

_CONTROLS: deque[WorkerControl] = deque(maxlen=1)
"""The control of the latest lease."""


def is_working(control: WorkerControl | None, loops: Collection[GroupRunner]) -> bool:
    """Return whether a loop of a worker still runs after its executor; stop those that no lease will follow.

    Args:
        control: control of the worker's latest lease.
    """
    # After the end of their executor, no lease checks for the command that ends these loops, so it is checked here.
    if control is not None and control.must_leave:
        for runner in loops:
            runner.stop()
    return any(runner.is_working for runner in loops)


def is_process_working() -> bool:
    """Return whether a loop of this process still runs after its executor."""
    return is_working(next(iter(_CONTROLS), None), _LOOPS.values())


class WorkerProcess:
    """The services of a worker process to its lease."""

    @property
    def loops(self) -> MutableMapping[GroupKey, GroupRunner]:
        """The process's loops, of this lease and of earlier leases."""
        return _LOOPS

    @property
    def executor(self) -> int:
        """Id of the parent process, which changes when the executor ends."""
        # Spark's daemon forks the workers. When it ends, they get another parent from the kernel.
        return os.getppid()

    def monotonic(self) -> float:
        """Return the time in seconds."""
        return time.monotonic()

    def control(self, spec: JobSpec, lease: Lease) -> WorkerControl:
        """Return the worker's side of the control group, during a lease."""
        control = WorkerControl.of(spec, lease)
        _CONTROLS.append(control)
        return control

    def build(self, spec: JobSpec, lease: Lease) -> GroupRunner:
        """Return a new loop with tables from the snapshots. Raises Unavailable."""
        return build_group(spec, lease, open_storage(spec, lease))

    def look_at_clock(self, spec: JobSpec) -> None:
        """Set the clock of the process to the broker's time."""
        broker_clock(spec).look()

    def stop(self, group: GroupKey) -> None:
        """Stop a group's loop, if it has one, and remove it."""
        runner = self.loops.pop(group, None)
        if runner is not None:
            runner.stop()
