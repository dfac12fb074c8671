"""A task group without Spark, which runs the code of a worker with snapshots in memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from service_bench import PARTITIONS, ServiceBench

from forebay.runtime.driver.prepare import register_contracts
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.pacing import Limits
from forebay.runtime.worker.build import build_group
from tests.runtime.simulator.state import Store

CHECKPOINT = "checkpoint-1"
_CYCLE_SECONDS = 0.2


T = TypeVar("T")


class Snapshots:
    """The snapshots of a group as files in memory."""

    def __init__(self) -> None:
        self.store = Store()


class LoopWorker:
    """A worker that runs the first of `groups` task groups of a job. The constructor opens the group.

    Args:
        snapshots: Snapshots with which it starts.
        lease: Values that replace those of the lease, by field.
        spec: Values that replace those of the job's spec, by field.
    """

    def __init__(
        self,
        bench: ServiceBench,
        snapshots: Snapshots | None = None,
        lease: dict[str, Any] | None = None,
        **spec: Any,
    ) -> None:
        service, application = bench.service, bench.application
        self.snapshots = snapshots or Snapshots()
        self.spec = JobSpec(
            **{
                "service": service.name,
                "application": application,
                "tasks": PARTITIONS,
                "groups": 1,
                "kafka": bench.settings,
                "logic": {},
                "schema_ids": register_contracts(bench.settings, service, application),
                "code_version": "v1",
                "limits": Limits(max_records=200, commit_interval_ms=10),
                **spec,
            }
        )
        start = {topic.name: (0,) * PARTITIONS for topic in service.inputs}
        first = Lease(CHECKPOINT, 1, 0, self.spec.groups, PARTITIONS, time.time_ns() // 1_000_000, start)
        self.lease = replace(first, **(lease or {}))
        runner = build_group(self.spec, self.lease, self.snapshots.store.storage(CHECKPOINT))
        self.group: TaskGroup = runner.group
        self.keeper = runner.keeper

    def open(self) -> LoopWorker:
        """Open the group, which fences its previous worker."""
        self.group.open(self.lease)
        return self

    def cycle(self) -> bool:
        """Poll, process and commit once."""
        return self.group.cycle(self.lease, _CYCLE_SECONDS)

    def until(self, check: Callable[[], bool], seconds: float = 60.0) -> None:
        """Run cycles until a condition is true."""
        deadline = time.monotonic() + seconds
        while not check():
            assert time.monotonic() < deadline, "the condition does not become true"
            self.cycle()

    def read_everything(self) -> None:
        """Run cycles until all records that were sent are processed and committed."""
        self.until(self._has_read_everything)
        self.group.mark()

    def _has_read_everything(self) -> bool:
        """Run a cycle and return whether it had nothing to process. It may have announced the times of the tasks."""
        before = self.group.progress()
        self.cycle()
        self.group._reader.look()
        return self.group.progress() == before and all(task.input.is_caught_up for task in self.group.tasks)

    def snapshot(self) -> None:
        """Write the snapshots that a lease writes at its end."""
        self.keeper.write(self)

    def between_commits(self, call: Callable[[], T], seconds: float = 0.0) -> T:
        """Run `call` while no loop is running."""
        return call()

    def read_back(self) -> int:
        """Return the number of rows that were replayed from the changelogs when the group was opened."""
        return sum(len(task.dirty) for task in self.group.tasks)
