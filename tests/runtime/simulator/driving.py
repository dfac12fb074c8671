"""The part of the driver and of Spark in a run, which is to start and end leases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.job import global_tables
from forebay.runtime.errors import StateConflict, Unavailable
from forebay.runtime.protocol.lease import Lease, LeaseOffset, Partitioned
from forebay.runtime.task.inputs import TaskInput
from tests.runtime.simulator.lease import Holding
from tests.runtime.simulator.topologies import external
from tests.runtime.simulator.worker import Crashed, Worker

if TYPE_CHECKING:
    from tests.runtime.simulator.world import World


class Driving:
    """Model of the driver and Spark that starts each group's leases on workers of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.holdings: dict[int, Holding] = {}
        """Leases that workers hold, by group."""
        self.checkpoint, self.number = 1, 1
        """Numbers of the checkpoint and of the next lease."""
        self._batch_ends = 0.0

    def _is_of_old_checkpoint(self, lease: Lease, failure: BaseException) -> bool:
        return lease.checkpoint != f"c{self.checkpoint}" and isinstance(failure, StateConflict)

    def drive(self) -> None:
        """Do a step of the driver and Spark: start leases, end them, and start the next ones when all have ended."""
        for group in range(self._world.setup.groups):
            if group not in self.holdings and group not in self._world.absent:
                self._hand(group)
        is_over = self._world.broker.now >= self._batch_ends
        for group, holding in list(self.holdings.items()):
            worker = holding.worker
            if worker.is_paused or holding.is_done:
                continue
            try:
                if not worker.is_alive:
                    raise Crashed
                if holding.loop is None:
                    holding.open()
                holding.hold(self._world.broker.now)
                if is_over or holding.is_over:
                    holding.end()
            except (Crashed, Unavailable):
                if self.holdings.get(group) is holding:
                    del self.holdings[group]
            except StateConflict as error:
                if not self._is_of_old_checkpoint(holding.lease, error):
                    raise
        if len(self.holdings) == self._world.setup.groups and all(h.is_done for h in self.holdings.values()):
            self._end_batch()

    def _hand(self, group: int) -> None:
        alive = [worker for worker in self._world.workers if worker.is_alive and not worker.is_paused]
        if not alive:
            self._world.workers.append(Worker(self._world))
            alive = [self._world.workers[-1]]
        worker = self._world.random.choice(alive)
        if not self.holdings:
            # The driver ends leases soon, as when executors change, or after several snapshots.
            self._batch_ends = self._world.broker.now + self._world.setup.lease_seconds * self._world.random.choice(
                (1, 1, 4)
            )
        self.holdings[group] = Holding(worker, self.lease(group), 2 * self._world.setup.lease_seconds)

    def lease(self, group: int) -> Lease:
        setup = self._world.setup
        ends: Partitioned = dict.fromkeys(sorted(external(self._world.job)), ())
        for (topic, _), partition in sorted(self._world.broker.partitions.items()):
            if topic in ends:
                ends[topic] = (*ends[topic], partition.end)
        offset = LeaseOffset(
            f"c{self.checkpoint}",
            self.number,
            setup.groups,
            setup.tasks,
            planned_at=0,
            start={topic: (0,) * len(offsets) for topic, offsets in ends.items()},
            topic_ids={},
            until=None if setup.is_live or setup.waves > 1 else ends,
            restore=self.checkpoint > 1 and self.number == 1,
        )
        return offset.leases(global_tables(self._world.job))[group]

    def _end_batch(self) -> None:
        loops = [holding.loop for holding in self.holdings.values() if holding.loop is not None]
        self.holdings.clear()
        self.number += 1
        self._world.seen["leases"] += 1
        if len(loops) < self._world.setup.groups:
            return
        if not self._world.setup.is_live and self._world.setup.waves == 1:
            self._world.is_finished = all(loop.finished and loop.is_alive for loop in loops)
        elif all(self.has_used_all(task.input) for loop in loops for task in loop.group.tasks):
            self._world.is_finished = not self._world.to_come
            if self._world.setup.waves > 1 and self._world.to_come:
                self._world.restart(is_hard=True)
                self._world.produce(self._world.wave)

    def has_used_all(self, item: TaskInput) -> bool:
        """Return whether a task has processed all records that it can read."""
        ends = {part: self._world.broker.partitions[part.topic, part.partition].end for part in item.all_partitions}
        return not item.waiting and all(part.next >= end for part, end in ends.items())
