"""Holding a lease in single steps, as `runtime.spark.leases` does on a thread."""

from __future__ import annotations

from forebay.runtime.errors import Unavailable
from forebay.runtime.protocol.lease import Lease
from tests.runtime.simulator.worker import Loop, Worker


class Holding:
    """An attempt at a group's lease on a worker.

    Args:
        seconds: Duration of the lease and of its grace period.
    """

    def __init__(self, worker: Worker, lease: Lease, seconds: float) -> None:
        self.worker = worker
        self.lease = lease
        self._seconds = seconds
        self._next_snapshot = 0.0
        self.loop: Loop | None = None
        """The loop of this lease, once it was opened."""
        self.is_done = False

    def open(self) -> None:
        """Start or retry the lease, with the loop of the previous lease or a new loop."""
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

    def hold(self, now: float) -> None:
        """Put waiting rows, or write snapshots that are due. If the loop has given up, open the group again."""
        loop = self.loop
        if loop is None:
            return
        if not loop.is_alive:
            if loop.failure is None:
                self.open()
            return
        loop.hold()
        try:
            if now >= self._next_snapshot:
                loop.keeper.write(loop)
                self._next_snapshot = now + self._seconds / 4
            else:
                loop.keeper.put_waiting(loop)
        except Unavailable:
            return

    @property
    def is_over(self) -> bool:
        """Whether the loop has finished its work or failed."""
        return self.loop is not None and (self.loop.finished or self.loop.failure is not None)

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
