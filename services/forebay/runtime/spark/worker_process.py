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
"""This worker's loops: the current lease's, and those of earlier leases that run until another worker takes over."""

_CONTROLS: deque[WorkerControl] = deque(maxlen=1)
"""The control of the latest lease."""


def is_working(control: WorkerControl | None, loops: Collection[GroupRunner]) -> bool:
    """Return whether a loop of a worker still runs after its executor; stop those that no lease will follow.

    Args:
        control: of the worker's latest lease.
    """
    # Nothing asks these loops any more once their executor has ended, so they look for the command themselves.
    if control is not None and control.must_leave:
        for runner in loops:
            runner.stop()
    return any(runner.is_working for runner in loops)


def is_process_working() -> bool:
    """Return whether a loop of this process still runs after its executor."""
    return is_working(next(iter(_CONTROLS), None), _LOOPS.values())


class WorkerProcess:
    """What a lease uses of the process that holds it."""

    @property
    def loops(self) -> MutableMapping[GroupKey, GroupRunner]:
        """The process's loops, of this lease and of earlier ones."""
        return _LOOPS

    @property
    def executor(self) -> int:
        """Id of the process that started this one; it changes when the executor ends."""
        # Spark's daemon forks the workers. When it ends, the kernel gives them another parent.
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
        """Return a new loop, whose tables are as the snapshots have them. Raises Unavailable."""
        return build_group(spec, lease, open_storage(spec, lease))

    def look_at_clock(self, spec: JobSpec) -> None:
        """Set the clock of the process by the broker's."""
        broker_clock(spec).look()

    def stop(self, group: GroupKey) -> None:
        """Stop a group's loop, if there is one, and forget it."""
        runner = self.loops.pop(group, None)
        if runner is not None:
            runner.stop()
