"""The simulated world: an in-memory broker, models of the driver and Spark, and workers that run the product's code.

A world runs in simulated time on one thread. A seed determines every event (the next component that makes a step, and
the faults), so a failed run can be repeated exactly.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from confluent_kafka import KafkaError, KafkaException

from forebay.runtime.driver.record_formats import Layouts
from forebay.runtime.errors import FormatChanged, GroupFenced, Unavailable
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.driving import Driving
from tests.runtime.simulator.formats import FORMATS, check_formats, has_committed, with_format
from tests.runtime.simulator.setup import Setup
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.topologies import (
    APPLICATION,
    FACTORS,
    JOBS,
    OTHERS,
    RATES,
    external,
    factors,
    records,
    topics,
    with_another_before,
    with_rates,
)
from tests.runtime.simulator.worker import TOMBSTONE_SECONDS, Crashed, Loop, Worker, logs

CALM_TURNS = 6_000
_LATE = 0.05
"""Share of points at which a late copy of a request arrives."""
_LATE_LISTINGS = 0.1
"""Share of snapshot files that appear late in listings."""
SILENT = ("read", "open.tail", "open.tailed", "open.fenced", "describe")
"""Points without a client call that could fail. The worker can only be killed or paused there."""


class World:
    """The run of a setup. Implements `worker.Environment`.

    Args:
        setup: The setup.
        seed: Seed of the events.
        inputs: Seed of the input, so that runs with different events can have the same input.
    """

    def __init__(self, setup: Setup, seed: int, inputs: int = 0) -> None:
        self.setup = setup
        self.job = with_format(JOBS[setup.topology], FORMATS[0]) if setup.formats else JOBS[setup.topology]
        self.layouts: Layouts = {}
        self.read_ahead = setup.read_ahead
        self.random = random.Random(seed)
        self._trouble = 0.0
        self.broker = Broker(self.random)
        self.broker.late.share = setup.late_ends if setup.trouble else 0.0
        self.broker.late.share_of_others = setup.late_ends / 30 if setup.trouble else 0.0
        for topic, partitions in topics(self.job, setup.partitions, setup.tasks).items():
            self.broker.create(topic, partitions)
        self.changelogs = [topic for log in logs(self.job) for topic in log.rows().topics]
        for topic in self.changelogs:
            self.broker.create(topic, setup.tasks)
        self.seen: Counter[str] = Counter()
        """Number of occurrences of each event at each point."""
        drawn = random.Random(inputs)
        self.to_come = records(drawn, setup.records, setup.partitions)
        if RATES in external(self.job):
            self.to_come = with_rates(drawn, self.to_come, setup.tasks)
        self.wave = -(-len(self.to_come) // setup.waves)
        if FACTORS in external(self.job):
            for partition, key, value, timestamp in factors():
                self.broker.append((FACTORS, partition), key, value, timestamp)
        if setup.waves > 1:
            self.produce(self.wave)
        elif not setup.is_live:
            self.produce(len(self.to_come))
        self.workers = [Worker(self), Worker(self)]
        self._ended: list[Worker] = []
        self.store = self._new_store()
        self.driving = Driving(self)
        self._clock_is_off = 0.0
        self._depth = 0
        self.skipped = 0.0
        """Time (s) for which the whole job was down."""
        self.calm_since = 0.0
        """Time of the last fault."""
        self.is_finished = False
        self.is_rescaled = False
        """Whether commit numbers have a gap, because a rescale has rewritten the changelogs."""
        self.absent: set[int] = set()
        """Groups that no worker runs."""

    def run(self) -> None:
        """Run until everything is processed.

        Raises the error that stopped the job, or AssertionError if it does not end.
        """
        self._trouble = self.setup.trouble
        for turn in range(self.setup.turns if self._trouble else 0):
            if self.setup.loses_checkpoint and turn == self.setup.turns // 2:
                self._lose_checkpoint()
            if self.setup.edits and turn % (self.setup.turns // self.setup.edits) == 20:
                self._edit_topology()
            if self.setup.formats and self.random.random() < self.setup.formats / self.setup.turns:
                self._edit_formats()
            self.turn()
        if self.setup.formats:
            self.absent.clear()
        self._trouble = 0.0
        self.calm_since = self.broker.now
        for _ in range(CALM_TURNS):
            self.turn()
            if self.is_finished:
                return
        raise AssertionError("the job does not come to its end")

    def _new_store(self) -> Store:
        """Return an empty store of snapshots, whose listings are sometimes late by up to two leases."""

        def lateness() -> float:
            is_late = self._trouble and self.random.random() < _LATE_LISTINGS
            return self.random.uniform(0.0, 2 * self.setup.lease_seconds) if is_late else 0.0

        return Store({}, lambda: self.broker.now, lateness, lambda: self.random.random() < 0.5)

    def monotonic(self) -> float:
        return self.broker.now

    def wall_clock(self) -> int:
        return int((self.broker.now + self._clock_is_off) * 1_000) + 1_700_000_000_000

    def wait(self, seconds: float) -> None:
        self.broker.now += max(seconds, 0.001)

    def at(self, worker: Worker, point: str) -> None:
        self.broker.now += 0.0005
        if self.random.random() < 0.3:
            self.broker.settle()
        if self.broker.late.share and self.random.random() < _LATE:
            self.broker.late.deliver()
        if not self._trouble or self.random.random() >= self._trouble:
            return
        kind = self.random.choice(("crash", "fail", "pause", "pause"))
        if kind == "fail" and point in SILENT:
            return
        self.seen[f"{kind} at {point}"] += 1
        if kind == "crash":
            self._end(worker)
        elif kind == "fail" and point.startswith("state."):
            raise Unavailable(point)
        elif kind == "fail":
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        elif self._depth < 2:
            self._pause(worker)

    def _pause(self, worker: Worker) -> None:
        """Pause a worker while the others continue, so that another worker has taken over when it resumes."""
        worker.is_paused = True
        self._depth += 1
        for _ in range(self.random.choice((1, 5, 40))):
            self.turn()
        self._depth -= 1
        worker.is_paused = False

    def used_records(self, topic: str) -> int:
        """Return the number of records of a topic that current commits have used."""
        loops = [holding.loop for holding in self.driving.holdings.values() if holding.loop is not None]
        ends = [end for loop in loops for task in loop.group.tasks for end in task.position.ends]
        return sum(offset for name, _, offset in ends if name == topic)

    def turn(self) -> None:
        """Let a component make a step."""
        self._some_trouble()
        if self.setup.is_live and self.setup.waves == 1 and self.to_come and self.random.random() < 0.3:
            self.produce(self.random.randrange(1, 8))
        self.driving.drive()
        loops = [
            (worker, loop)
            for worker in [*self.workers, *self._ended]
            if worker.is_alive and not worker.is_paused
            for loop in list(worker.loops.values())
            if loop.is_alive
        ]
        if loops:
            self._loop(*self.random.choice(loops))
        else:
            self.wait(0.05)

    def _loop(self, worker: Worker, loop: Loop) -> None:
        try:
            loop.turn()
        except Crashed:
            loop.is_alive = False
        holders = [holding.loop for holding in self.driving.holdings.values()]
        if loop in holders and loop.failure is not None and not isinstance(loop.failure, GroupFenced):
            raise loop.failure

    def _some_trouble(self) -> None:
        if not self._trouble:
            return
        draw = self.random.random()
        if draw < 0.03:
            self.broker.compact(self.changelogs, TOMBSTONE_SECONDS)
        elif draw < 0.04:
            self.seen["query restarts"] += 1
            self.restart(is_hard=self.random.random() < 0.5)
        elif draw < 0.05:
            self.seen["twin"] += 1
            self._hand_over()
        elif draw < 0.06:
            self.seen["long stop"] += 1
            self.restart(is_hard=True)
            # The next workers are on other machines.
            self._clock_is_off = TOMBSTONE_SECONDS * self.random.choice((-3.0, -0.6, 0.0, 0.6, 3.0))
            stop = TOMBSTONE_SECONDS * self.random.choice((0.3, 0.6, 3.0))
            self.skipped += stop
            self.broker.now += stop
            self.broker.compact(self.changelogs, TOMBSTONE_SECONDS)
        elif draw < 0.065:
            self.seen["coordinator moves"] += 1
            self.broker.coordinator.move()
        elif draw < 0.08:
            self.broker.coordinator.expire(5.0)

    def restart(self, *, is_hard: bool) -> None:
        """Restart the query from its last committed batch, with the surviving workers or new ones."""
        self.driving.holdings.clear()
        if is_hard:
            for worker in list(self.workers):
                self._end(worker)

    def _edit_topology(self) -> None:
        """Restart with a topology that has an additional sub-topology before the others, or that no longer has it."""
        self.restart(is_hard=True)
        former, formats = JOBS[self.setup.topology], self.job.formats
        self.job = replace(former, formats=formats) if OTHERS in self.job.inputs else with_another_before(self.job)
        self.seen["edits"] += 1
        for topic in (OTHERS, *(topic for log in logs(self.job) for topic in log.rows().topics)):
            if (topic, 0) not in self.broker.partitions:
                self.broker.create(topic, self.setup.tasks)
                self.changelogs += [topic] if topic != OTHERS else []

    def _edit_formats(self) -> None:
        """Restart with another format of repartition records, or with the former one if the start is refused."""
        # A driver's start takes longer than the first commit, by which readers declare their formats.
        if not has_committed(self.broker, self.job, self.setup.tasks):
            return
        self.restart(is_hard=self.random.random() < 0.3)
        # A worker that survives its driver commits until it is fenced, and does not open its group again.
        for worker in self.workers:
            for loop in worker.loops.values():
                loop.release()
        self._ended, self.workers = [*self._ended, *self.workers], [Worker(self)]
        # A group that is opened later, as if its changelogs were long: another release may follow before it is opened.
        self.absent = {self.random.randrange(self.setup.groups)} if self.random.random() < 0.5 else set()
        edited = with_format(self.job, self.random.choice(FORMATS))
        try:
            self.layouts = check_formats(self.broker, edited, self.setup.tasks, self.setup.groups).layouts
            self.job = edited
            self.seen["format edits"] += 1
        except FormatChanged:
            self.seen["format edits refused"] += 1
            self.layouts = check_formats(self.broker, self.job, self.setup.tasks, self.setup.groups).layouts

    def _hand_over(self) -> None:
        """Let another worker run a group's lease, while the previous worker does not know it."""
        if self.driving.holdings:
            group = self.random.choice(list(self.driving.holdings))
            if not self.driving.holdings[group].is_done:
                del self.driving.holdings[group]
                self.workers.append(Worker(self))

    def _lose_checkpoint(self) -> None:
        self.restart(is_hard=self.random.random() < 0.5)
        self._ended, self.workers = [worker for worker in self.workers if worker.is_alive], [Worker(self)]
        self.store = self._new_store()
        for group in range(self.setup.groups):
            self.broker.coordinator.init(f"{APPLICATION}-group-{group}")
        self.driving.checkpoint, self.driving.number = self.driving.checkpoint + 1, 1

    def _end(self, worker: Worker) -> None:
        worker.is_alive = False
        worker.loops.clear()
        if worker in self.workers:
            self.workers.remove(worker)

    def take_away(self, group: int) -> None:
        """Stop a group. No worker runs it until it is removed from `absent`."""
        self.absent.add(group)
        self.driving.holdings.pop(group, None)
        for worker in self.workers:
            for place in [place for place in worker.loops if place[1] == group]:
                worker.loops.pop(place).stop()

    def produce(self, count: int) -> None:
        """Append about `count` of the next input records. Records with the same timestamp are appended together."""
        while 0 < count < len(self.to_come) and self.to_come[count][3] == self.to_come[count - 1][3]:
            count += 1
        for place, key, value, timestamp in self.to_come[:count]:
            self.broker.append(place, key, value, timestamp)
        del self.to_come[:count]
