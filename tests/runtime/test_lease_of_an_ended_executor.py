"""If a worker's executor ends while the worker loads its tables, it does not fence the lease's new worker."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.spark.leases import Holding
from forebay.runtime.spark.worker_process import WorkerProcess
from forebay.runtime.task.pacing import Limits


class Process(WorkerProcess):
    """A process whose executor ends while a loop is built. The loop must not open its group then."""

    def __init__(self) -> None:
        self.parent = 7
        self.stopped = 0

    @property
    def executor(self) -> int:
        return self.parent

    def monotonic(self) -> float:
        return 0.0

    def control(self, spec: Any, lease: Lease) -> Any:
        return SimpleNamespace(must_end=False, is_reported=False, silent_seconds=0.0, report=lambda *_, **__: False)

    def build(self, spec: Any, lease: Lease) -> Any:
        self.parent = 1
        return SimpleNamespace(group=SimpleNamespace(tasks=[]), start=self.start, stop=self.stop_loop)

    def start(self, lease: Lease, is_held: Callable[[], bool]) -> None:
        assert not is_held()
        raise Unavailable("the lease ended before the group was opened")

    def stop_loop(self) -> None:
        self.stopped += 1


def test_it_does_not_open_the_group() -> None:
    limits = Limits(checkpoint_interval_ms=30_000)
    spec: Any = SimpleNamespace(
        application="app", checkpoint="c", limits=limits, matched={}, transactional_id=lambda group: f"app-{group}"
    )
    process = Process()
    holding = Holding(spec, Lease("c1", 2, 0, 1, 1, 0, {"t": (0,)}), process)
    assert holding.step() is None
    assert process.stopped == 1
    with pytest.raises(Unavailable, match="the executor of this worker has ended"):
        holding.step()
