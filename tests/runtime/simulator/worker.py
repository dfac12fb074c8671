"""A worker process of the simulator, which runs the runtime's loops with in-memory clients."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Protocol, TypeVar

from forebay.job import Job
from forebay.partitioner import Partitioner
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import EngineSettings
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog, sub_topology_log
from forebay.runtime.changelog.topics import former_topics, repartition_topic
from forebay.runtime.driver.record_formats import Layouts
from forebay.runtime.errors import GroupFenced, Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.announce import Announcer
from forebay.runtime.task.commit import Destinations
from forebay.runtime.task.coverage import Retention
from forebay.runtime.task.group import GroupSettings, TaskGroup
from forebay.runtime.task.loop_calls import LoopBusy, LoopEnded
from forebay.runtime.task.pacing import Limits, Pacing
from forebay.runtime.task.record_formats import digests_of
from forebay.runtime.task.snapshot import GroupStorage, Place, SnapshotWriter
from forebay.runtime.task.snapshot_writing import SnapshotKeeper
from forebay.runtime.task.state_task import StateTask
from forebay.runtime.task.tail import Tail
from forebay.runtime.task.task_settings import TaskSettings
from forebay.runtime.worker.broker_requests import GroupSurroundings
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.retries import RetryWatch
from forebay.runtime.worker.tails import read_tails
from forebay.runtime.worker.transaction import GroupProducer
from forebay.stores.memory import MemoryTable
from tests.runtime.simulator.broker import Broker
from tests.runtime.simulator.clients import MemoryAdmin, MemoryConsumer, MemoryProducer
from tests.runtime.simulator.state import Store
from tests.runtime.simulator.topologies import APPLICATION, codecs

T = TypeVar("T")

TOMBSTONE_SECONDS = 40.0


class Crashed(BaseException):
    """The worker's process has been killed."""


class Environment(Protocol):
    """The environment of a worker."""

    broker: Broker
    store: Store
    job: Job
    layouts: Layouts
    """Layouts of unread repartition records of other releases, as the driver has read them."""
    read_ahead: int

    def at(self, worker: Worker, point: str) -> None:
        """Draw and execute the event of a worker at a point: nothing, a failed call, a crash, or a pause."""
        ...

    def wait(self, seconds: float) -> None: ...

    def monotonic(self) -> float: ...

    def wall_clock(self) -> int: ...


class MemorySurroundings(GroupSurroundings):
    def __init__(self, environment: Environment, at: Callable[[str], None], layouts: Layouts | None = None) -> None:
        consumer = MemoryConsumer(environment.broker, at, environment.wait)
        spec: Any = SimpleNamespace(application=APPLICATION, record_layouts=layouts or {})
        topics = {topic for topic, _ in environment.broker.partitions}
        spec.former = former_topics(APPLICATION, len(environment.job.topology), topics)
        super().__init__(spec, environment.job, consumer, MemoryAdmin(environment.broker, at))  # type: ignore[arg-type]
        self._environment = environment
        self._at = at

    def read_tails(self, tails: list[Tail]) -> None:
        self._at("open.tail")
        consumer: Any = MemoryConsumer(self._environment.broker, lambda _: None, self._environment.wait)
        read_tails(APPLICATION, tails, lambda: consumer)
        self._at("open.tailed")


def call_here(_seconds: float, call: Callable[[], object]) -> None:
    """Run a call on this thread. With a deadline in real time, a seed's run would depend on the load of the machine."""
    call()


def logs(job: Job) -> list[SubTopologyLog]:
    """Return the changelogs of each sub-topology."""
    return [sub_topology_log(APPLICATION, part, topology.processor(None)) for part, topology in enumerate(job.topology)]


def new_pacing(environment: Environment) -> Pacing:
    """Return the pacing of a group."""
    return Pacing(
        Limits(max_records=9, commit_interval_ms=10, shortest_interval_ms=2),
        environment.monotonic,
        environment.read_ahead,
    )


def build(
    environment: Environment,
    lease: Lease,
    storage: GroupStorage,
    at: Callable[[str], None],
    pacing: Pacing | None = None,
) -> TaskGroup:
    """Return the group of a lease, as `runtime.worker.build` builds it."""
    job, broker, name = environment.job, environment.broker, f"{APPLICATION}-group-{lease.group}"
    tasks: list[StateTask] = []
    writers: dict[Place, SnapshotWriter] = {}
    snapshots = []
    for part, log in enumerate(logs(job)):
        for number in lease.numbers:
            task = _task(environment, part, number, log, lease)
            writer = writers[task.place] = SnapshotWriter(task)
            snapshots.append(writer.load(storage))
            tasks.append(task)
    consumer: Any = MemoryConsumer(broker, at, environment.wait)
    admin: Any = MemoryAdmin(broker, at)
    repartitions = {name: repartition_topic(APPLICATION, name) for part in job.topology for name in part.repartitions}
    producer: Any = lambda: MemoryProducer(broker, name, at)  # noqa: E731
    group = TaskGroup(
        tasks,
        writers,
        GroupReader(consumer, admin),
        GroupProducer(
            consumer,
            producer,
            Destinations(
                "errors", "late", repartitions, Partitioner(lease.tasks), digests=digests_of(APPLICATION, job)
            ),
            retries=RetryWatch(environment.monotonic),
            bounded=call_here,
        ),
        MemorySurroundings(environment, at, environment.layouts),
        pacing or new_pacing(environment),
        GroupSettings(name, Retention(int(TOMBSTONE_SECONDS * 1_000)), idle=False),
        environment.wall_clock,
        environment.monotonic,
    )
    group.coverage.begin_with(snapshots)
    return group


def _task(environment: Environment, part: int, number: int, log: SubTopologyLog, lease: Lease) -> StateTask:
    topology, name = environment.job.topology[part], f"{APPLICATION}-{part}-{number}"
    processor, table = topology.processor(None), MemoryTable()
    settings = EngineSettings("simulated", dedupe_retention_ms=0, max_future_ms=1 << 60)
    return StateTask(
        TaskEngine(processor, codecs(environment.job, topology, processor), table, settings),
        table,
        log.router(number),
        log.rows(),
        Announcer(1.0, environment.monotonic),
        TaskSettings(
            name,
            part,
            number,
            tuple(sorted(topology.sends)),
            groups=lease.groups,
            sub_topology=topology.identity,
        ),
    )


class Loop:
    """A group's loop that the simulator runs turn by turn, as `runner.GroupRunner` does on a thread."""

    def __init__(
        self, group: TaskGroup, seconds: float, monotonic: Callable[[], float], keeper: SnapshotKeeper
    ) -> None:
        self.group = group
        self.keeper = keeper
        self._seconds = seconds
        self._monotonic = monotonic
        self.failure: BaseException | None = None
        self.is_alive = True
        self.is_busy = False
        self.finished = False

    def start(self, lease: Lease) -> None:
        self.group.open(lease)
        self.renew(lease)

    def renew(self, lease: Lease) -> None:
        self.lease, self.finished, self._is_held = lease, False, True
        self._deadline = self._monotonic() + self._seconds

    def hold(self) -> None:
        self._deadline = max(self._deadline, self._monotonic() + self._seconds)

    def release(self) -> None:
        self._is_held = False
        self._deadline = self._monotonic() + self._seconds

    def between_commits(self, call: Callable[[], T], seconds: float = 0) -> T:
        if not self.is_alive:
            raise LoopEnded("the loop has ended")
        if self.is_busy:
            raise LoopBusy("the loop is busy")
        return call()

    def turn(self) -> None:
        """Run one turn of the loop."""
        if self._monotonic() > self._deadline:
            self.stop()
            return
        if not self.group.is_open and not self._is_held:
            return
        self.is_busy = True
        try:
            if not self.group.is_open:
                self.group.open(self.lease)
            if not self.finished and self.group.is_done(self.lease):
                self.group.mark()
                self.finished = True
            if not self.finished:
                self.group.cycle(self.lease, 0.02)
        except GroupFenced as error:
            self.failure = error
            self.stop()
        except Unavailable:
            self.group.abandon()
        except Exception as error:
            self.failure = error
            self.stop()
        finally:
            self.is_busy = False

    def stop(self) -> None:
        self.is_alive = False
        self.group.abandon()


class Worker:
    """A worker process. `is_paused` is set while it is paused in the middle of an operation."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self.loops: dict[tuple[str, int], Loop] = {}
        self.is_alive = True
        self.is_paused = False

    def at(self, point: str) -> None:
        """Let the event at a point happen. Raises Crashed if the process has been killed."""
        self._environment.at(self, point)
        if not self.is_alive:
            raise Crashed

    def build(self, lease: Lease, seconds: float) -> Loop:
        """Return a new loop for a lease, not started yet."""
        environment = self._environment
        storage = environment.store.storage(lease.checkpoint, self.at)
        keeper = SnapshotKeeper(storage, piece_rows=4, piece_blocks=1)
        return Loop(build(environment, lease, storage, self.at), seconds, environment.monotonic, keeper)
