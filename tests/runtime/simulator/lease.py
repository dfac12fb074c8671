"""Holding a lease as `runtime.spark.leases` does, one step at a time."""

from __future__ import annotations

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from tests.runtime.simulator.worker import Loop, Worker


class Holding:
    """One attempt at a group's lease, on one worker.

    Args:
        seconds: the lease's and its grace.
    """

    def __init__(self, worker: Worker, lease: Lease, seconds: float) -> None:
        self.worker = worker
        self.lease = lease
        self._seconds = seconds
        self.loop: Loop | None = None
        self.is_done = False

    def open(self) -> None:
        """Begin the lease, or retry, with the loop of the previous lease or a new one."""
        place = self.lease.checkpoint, self.lease.group
        loop = self.worker.loops.get(place)
        if loop is not None:
            if loop.is_alive:
                loop.renew(self.lease)
                self.loop = loop
                return
            del self.worker.loops[place]
            loop.stop()
        loop = self.worker.build(self.lease, self._seconds)
        try:
            loop.start(self.lease)
        except Unavailable:
            loop.stop()
            return
        self.worker.loops[place] = self.loop = loop

    def hold(self) -> None:
        """Put the waiting calls."""
        if self.loop is not None and self.loop.is_alive:
            try:
                self.loop.keeper.put_waiting(self.loop)
            except Unavailable:
                return

    @property
    def is_over(self) -> bool:
        """Whether the loop has nothing left to do, or has ended."""
        return self.loop is not None and (self.loop.finished or not self.loop.is_alive)

    def end(self) -> None:
        """Write the snapshots. Raises the error that ended the loop."""
        loop = self.loop
        if loop is not None:
            if self.lease.restore and loop.is_alive and not loop.group.is_taken_over(self.lease):
                return
            try:
                if loop.is_alive:
                    loop.keeper.write(loop)
                loop.release()
            except Unavailable:
                pass
            if loop.failure is not None:
                raise loop.failure
        self.is_done = True
