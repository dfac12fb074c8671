"""A task with stores of every type, written as in a job, and its replica in a query server."""

from __future__ import annotations

from typing import Any

from forebay.processor.api import Context, Processor
from forebay.processor.bound_stores import declared_stores
from forebay.queries.replica import TaskReplica
from forebay.queries.stores import JobStores
from forebay.runtime.changelog.sub_topology_log import sub_topology_log
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.stores.buffers import JoinBuffer
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.listvalue import ListValueStore
from forebay.stores.lru import LruStore
from forebay.stores.memory import MemoryTable
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore
from forebay.testing.bench import Bench
from forebay.testing.cell import Cell, CellCodec


class Everything(Processor[Any, Any]):
    plain = KeyValueStore("plain", Cell)
    stamped = TimestampedKeyValueStore("stamped", Cell)
    expiring = TtlKeyValueStore("expiring", Cell, ttl_ms=100)
    recent = LruStore("recent", Cell, max_entries=2)
    windows = WindowStore("windows", Cell, size_ms=10, retention_ms=100)
    sessions = SessionStore("sessions", Cell, retention_ms=100)
    versions = VersionedKeyValueStore("versions", Cell, history_retention_ms=100)
    lists = ListValueStore("lists", Cell)
    waiting = JoinBuffer("waiting", Cell)

    def process(self, event: Any, ctx: Context[Any]) -> None:
        raise NotImplementedError


LOG = sub_topology_log("app", 0, Everything())
CODECS = {store.name: CellCodec() for store in LOG.stores}


class WrittenTask:
    """A task whose stores are written commit by commit, and a replica that reads its changelog records."""

    def __init__(
        self, task: int = 0, replica: TaskReplica | None = None, processor: type[Processor[Any, Any]] = Everything
    ) -> None:
        self.task = task
        self.log = LOG if processor is Everything else sub_topology_log("app", 0, processor())
        self.codecs = {store.name: CellCodec() for store in self.log.stores}
        self.replica = TaskReplica(task, self.log, self.codecs) if replica is None else replica
        self._bench = Bench(MemoryTable())
        self._stores = {
            declared.name: self._bench.open(declared, CellCodec()) for _, declared in declared_stores(processor)
        }
        self._router = self.log.router(task)
        self._ends = dict.fromkeys(self.log.rows().topics, 0)
        self.batch = 0

    def store(self, name: str) -> Any:
        return self._stores[name]

    def at(self, time: int) -> None:
        """Set the task's clock, in ms."""
        self._bench.clock.closing_time = time

    def commit(self, job: str = "job") -> dict[str, int]:
        """Commit the changes as one transaction, let the replica read them, and return the changelogs' end offsets."""
        self.batch += 1
        for topic, key, value, timestamp in self._router.route(self._bench.commit(), 0):
            self._take(topic, key, value, timestamp)
        clock = self._bench.clock.closing_time
        position = TaskPosition(job, self.batch, clock, clock, "v", (("events", self.task, self.batch * 10),))
        self._take(self.log.internal, POSITION, position.to_json(), 0)
        self._ends = {topic: end + 1 for topic, end in self._ends.items()}
        return dict(self._ends)

    def publish(self, job: str = "job") -> int:
        """Commit, and let the replica apply the commit."""
        return self.replica.batches_end(self.commit(job))

    def _take(self, topic: str, key: bytes, value: bytes | None, timestamp: int) -> None:
        self.replica.take(topic, self._ends[topic], key, value, timestamp)
        self._ends[topic] += 1


def job_of(*tasks: WrittenTask) -> JobStores:
    """Return the stores of a job with one sub-topology."""
    return JobStores([tasks[0].log.stores], [[task.replica for task in tasks]])
