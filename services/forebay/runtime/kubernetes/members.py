"""Follows the executors: waits for them before the query starts, and redistributes the tasks when others join."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from forebay.http.health import Health
from forebay.runtime.driver.query import JobRunner
from forebay.runtime.kubernetes.api import WantedExecutors
from forebay.runtime.kubernetes.executor_pods import Blockade, Blocking, ExecutorPodWatch
from forebay.runtime.kubernetes.executors import ExecutorPods

log = logging.getLogger(__name__)

Executors = frozenset[str]

_POLL_SECONDS = 1.0
_SETTLE_SECONDS = 3.0
_PATIENCE_SECONDS = 20.0


class Membership:
    """Decides when to redistribute the tasks over the executors. It does no I/O; the caller passes the time.

    A query's tasks stay with the executors on which they started, so an executor that joins later would stay idle. If
    an executor leaves, nothing has to be done, because Spark assigns its tasks to the other executors.
    """

    def __init__(self) -> None:
        self._used: Executors = frozenset()
        self._seen: Executors = frozenset()
        self._since = 0.0
        self._wanted: int | None = None
        self._shrunk_at = float("inf")

    def complete(self, present: Executors, wanted: int | None, now: float) -> bool:
        """Return whether `present` is complete: all wanted executors, or the same ones for a while.

        Args:
            wanted: number of executors; None if unknown. Then a set that stays the same for 3 s is complete.
            now: monotonic seconds.
        """
        if present != self._seen:
            self._seen, self._since = present, now
        if not present:
            return False
        if wanted is None:
            return now - self._since >= _SETTLE_SECONDS
        # Executors that can't start, such as pods without a node, must not prevent the others from working.
        return len(present) >= wanted or now - self._since >= _PATIENCE_SECONDS

    def use(self, present: Executors) -> None:
        """Record that a query starts on these executors."""
        self._used = self._seen = present

    def outgrown(self, present: Executors, wanted: int | None, now: float) -> bool:
        """Return whether to redistribute the tasks, to use executors that joined after the start of the query."""
        # If none of the former executors is left, Spark has started all tasks on the present ones, and nothing has to
        # be redistributed.
        if not present & self._used:
            self._used = present
        complete = self.complete(present, wanted, now)
        return complete and not present <= self._used and now - self._since >= _SETTLE_SECONDS

    def shrunk(self, wanted: int | None, now: float) -> bool:
        """Return whether to redistribute the tasks because fewer executors are wanted; once for each such change.

        Otherwise the executors that leave would finish their leases first. By then, Spark assigns them no new tasks.
        """
        if wanted is not None:
            if self._wanted is not None and wanted < self._wanted:
                self._shrunk_at = now
            self._wanted = wanted
        # Scaling down in steps ends the leases once, not at each step.
        if now - self._shrunk_at < _SETTLE_SECONDS:
            return False
        self._shrunk_at = float("inf")
        return True


class ExecutorWatch:
    """Watches the executors of a session on its own thread."""

    def __init__(
        self, session: SparkSession, pods: ExecutorPods, health: Health, runner: JobRunner, stopping: threading.Event
    ) -> None:
        self._context = session.sparkContext
        self._pods, self._health, self._runner, self._stopping = pods, health, runner, stopping
        self._membership = Membership()
        self._wanted = WantedExecutors(pods)
        self._pod_watch, self._blockade = ExecutorPodWatch(pods), Blockade()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="executors", daemon=True)

    def wait(self) -> None:
        """Wait until all wanted executors have joined, or no other one has joined for a while."""
        begun, said = time.monotonic(), 0.0
        self._wanted.start()
        self._pod_watch.start()
        while not self._stopping.is_set():
            present, wanted = self._present(), self._wanted.number
            now = time.monotonic()
            if self._membership.complete(present, wanted, now):
                log.info("%s: %d executors after %.1f s", self._pods.name, len(present), now - begun)
                self._membership.use(present)
                return
            # The former executors' workers hold the memory that the new ones need, and no query runs that would end
            # their leases.
            if not present and self._must_make_room() is not None:
                self._runner.end_former_leases()
            self._waiting(present, wanted)
            if now - said > 15.0:
                log.info("%s", self._state(present, wanted))
                said = now
            self._stopping.wait(_POLL_SECONDS)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def close(self) -> None:
        """End, within seconds."""
        self._wanted.close()
        self._pod_watch.close()
        self._closed.set()
        self._thread.join(10.0)

    def _watch(self) -> None:
        alone = False
        while not self._closed.wait(_POLL_SECONDS):
            try:
                present = self._present()
            except (Py4JError, OSError) as error:
                log.debug("the executors can't be counted: %s", error)
                continue
            wanted = self._wanted.number
            if self._membership.shrunk(wanted, time.monotonic()):
                log.info("%s: %s executors are wanted: redistributing the tasks", self._pods.name, wanted)
                # With 0 executors wanted, no leases follow, and the loops end instead of waiting for them.
                self._runner.rebalance(is_followed=wanted != 0)
            blocking = self._must_make_room()
            if blocking is not None:
                self._runner.rebalance(is_followed=not blocking.is_alone)
            if not present:
                self._waiting(present, wanted)
                if not alone:
                    log.warning("%s", self._state(present, wanted))
                # Without executors no worker is left that could end its lease, so waiting for that would last until the
                # time limit.
                if self._stopping.is_set():
                    self._runner.abandon()
            elif self._membership.outgrown(present, wanted, time.monotonic()):
                log.info("%s: now %d executors: redistributing the tasks", self._pods.name, len(present))
                # Before the leases end. Otherwise the next round would find the same executors, and end the new leases,
                # too.
                self._membership.use(present)
                self._runner.rebalance()
            alone = not present

    def _must_make_room(self) -> Blocking | None:
        """Return pods whose workers should end now, because their successors can't start before; None if none."""
        blocking = self._blockade.due(self._pod_watch.blocking, time.monotonic())
        if blocking is not None:
            names = ", ".join(sorted(blocking.pods))
            log.info(
                "%s: no node has room for a replacement of %s: ending the leases, so that these pods can end",
                self._pods.name,
                names,
            )
        return blocking

    def _present(self) -> Executors:
        ids = self._context._jsc.sc().getExecutorIds().mkString(",")
        return frozenset(filter(None, str(ids).split(",")))

    def _waiting(self, present: Executors, wanted: int | None) -> None:
        self._health.failing(self._state(present, wanted))

    def _state(self, present: Executors, wanted: int | None) -> str:
        if wanted == 0:
            return f"no executors are wanted: kubectl scale deployment/{self._pods.name} --replicas=1 starts the job"
        return (
            f"waiting for executors: {len(present)} of {wanted if wanted is not None else '?'} have joined: "
            f"kubectl get pods -l spark-app-selector={self._pods.name} shows the others"
        )


@contextmanager
def following_executors(
    session: SparkSession,
    pods: ExecutorPods | None,
    health: Health,
    runner: JobRunner,
    stopping: threading.Event,
) -> Iterator[None]:
    """Wait for the executors, then follow them. For a job whose tasks run on this machine, this does nothing."""
    if pods is None:
        yield
        return
    watch = ExecutorWatch(session, pods, health, runner, stopping)
    watch.wait()
    watch.start()
    try:
        yield
    finally:
        watch.close()
