"""Runs a group's loop on its own thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from forebay.runtime.errors import GroupFenced, TransactionTooLong, Unavailable
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.task.clock import now_ms
from forebay.runtime.task.group import TaskGroup
from forebay.runtime.task.loop_calls import RUNNING_SECONDS, LoopCalls
from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.snapshot_writing import SnapshotKeeper

log = logging.getLogger(__name__)

GRACE_SECONDS = 20.0
"""How long a loop continues after its lease, while the driver plans the next one."""

OUTLIVING_SECONDS = 90.0
"""How long a loop continues while the driver is replaced. A new pod may have to wait for an image."""

STUCK_SECONDS = 150.0
"""A failing commit, its abort and the search for the cause take at most 130 s. A loop that has neither completed a
cycle nor processed a record for longer hangs in a call to the client library."""

_CONFIRM_SECONDS = 2.0
"""How long a loop without a lease may have nothing to commit before it checks whether another worker has taken over.

It is longer than the next lease usually takes, so that an idle job sends no such request."""

_CYCLE_SECONDS = 0.1
_PAUSE_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)

T = TypeVar("T")


class GroupRunner:
    """A group's loop. After its lease, it continues for a grace period, until the worker of the next lease takes over.

    Args:
        keeper: writes the group's snapshots.
        progress: returns a value that changes whenever the running commit has processed more.
    """

    def __init__(
        self,
        group: TaskGroup,
        pacing: Pacing,
        keeper: SnapshotKeeper,
        monotonic: Callable[[], float] = time.monotonic,
        progress: Callable[[], object] = lambda: None,
    ) -> None:
        self.group = group
        self.keeper = keeper
        self.belongs_to: object = None
        """Origin for which the loop was built. A lease with another origin can't continue with it."""
        self._pacing = pacing
        self._monotonic = monotonic
        self._lease: Lease | None = None
        self._deadline = float("-inf")
        self._grace = GRACE_SECONDS
        self._calls = LoopCalls(group.settings.name, lambda: self.is_alive, monotonic)
        self._thread: threading.Thread | None = None
        self._ending = threading.Event()
        self.finished = threading.Event()
        """Set once a lease with end offsets, or of a restore, is completed, and when the loop ends."""
        self.failure: BaseException | None = None
        self.trouble = ""
        """What the loop waits for, such as the broker."""
        self._beat_ms = now_ms()
        self._turned_at = 0.0
        self._progress, self._progress_before = progress, progress()
        self._is_held = self._has_begun = self._has_ended = self._is_opening = False
        self._failures = 0

    @property
    def is_alive(self) -> bool:
        """Whether the loop runs."""
        return self._has_begun and not self._has_ended

    @property
    def is_working(self) -> bool:
        """Whether the loop runs and its group is open. Without a lease, a closed group is not opened again."""
        return self.is_alive and self.group.is_open

    @property
    def is_stuck(self) -> bool:
        """Whether the loop runs, but has made no progress for longer than any of its calls may take."""
        self._look()
        return self.is_alive and not self._is_opening and self._monotonic() - self._turned_at > STUCK_SECONDS

    @property
    def beat_ms(self) -> int:
        """Time of the loop's last cycle, or of progress within a commit (wall clock, ms)."""
        self._look()
        return self._beat_ms

    def _look(self) -> None:
        """Check whether the running commit has made progress, so that a loop with slow logic is not stuck."""
        progress = self._progress()
        if progress != self._progress_before:
            self._progress_before = progress
            self._beat_ms, self._turned_at = now_ms(), self._monotonic()

    def start(self, lease: Lease, is_held: Callable[[], bool] = lambda: True) -> None:
        """Open the group and start the loop under a lease. Raises the errors of `TaskGroup.open`.

        Args:
            is_held: returns whether the lease is still held.
        """
        assert not self.is_alive, f"{self.group.settings.name}: a second loop would use the group's tables"
        self.group.open(lease, is_held)
        self.renew(lease)
        self._turned_at = self._monotonic()
        self._has_begun = True
        self._launch()

    def _launch(self) -> None:
        """Start the thread. A simulation has none and calls `turn` itself."""
        self._thread = threading.Thread(target=self._run, name=self.group.settings.name, daemon=True)
        self._thread.start()

    def renew(self, lease: Lease) -> None:
        """Continue under another lease."""
        self._lease, self._grace = lease, GRACE_SECONDS
        self._deadline = self._monotonic() + GRACE_SECONDS
        self._is_held = True
        self.finished.clear()

    def hold(self, seconds: float = GRACE_SECONDS) -> None:
        """Let the loop run for at least `seconds` more, because a changelog replay or a snapshot may take long."""
        self._deadline = max(self._deadline, self._monotonic() + seconds)

    def release(self) -> None:
        """End the lease. The loop continues for the grace period, but does not open the group again."""
        self._is_held = False
        self._deadline = self._monotonic() + self._grace

    def outlive(self) -> None:
        """End the lease when the driver is replaced. The loop continues for longer, until the next driver's leases."""
        self._grace = OUTLIVING_SECONDS
        self.release()

    def between_commits(self, call: Callable[[], T], seconds: float = RUNNING_SECONDS) -> T:
        """Run `call` on the loop's thread between two commits and return its result. This prolongs a held lease.

        A call that was given up never begins later, because it may use objects of a lease that is over.

        Args:
            seconds: how long the call itself may take.

        Raises:
            LoopBusy: the loop did not begin the call in time. LoopEnded: the loop ended. Unavailable: the call takes
            too long. Any error that `call` raises.
        """
        # With many tasks, the steps of a snapshot together take longer than the grace period. Without this, the loop
        # would end while its own lease still writes the snapshot.
        if self._is_held:
            self.hold()
        return self._calls.run(call, seconds)

    def stop(self) -> None:
        """End the loop after the running commit, and wait for its end. A stuck loop is abandoned."""
        self._ending.set()
        # A stuck loop is inside a call to the client library and can't be ended. The next owner's producer fences it.
        if not self.is_stuck:
            self._wait_for_end()
        if not self.is_alive:
            self.group.close()

    def _wait_for_end(self) -> None:
        if self._thread is not None:
            self._thread.join(60.0)

    def _run(self) -> None:
        while self.turn():
            pass

    def turn(self) -> bool:
        """Run one turn of the loop; return whether another one follows. Only the loop's thread calls this."""
        follows = False
        try:
            follows = not self._ending.is_set() and self._turn()
        except BaseException as error:
            # Before `finished` is set, because the lease may then open the group in another loop of this process.
            self.failure = error
            self.group.abandon()
            if isinstance(error, GroupFenced) and not self._is_held:
                # Another worker took over, as expected. Nothing will use this loop again: free its tables.
                log.info("%s: another worker owns this group now: this loop stops", self.group.settings.name)
                self.group.close()
        finally:
            if not follows:
                self._has_ended = True
                # The lease waits for this: the task then replaces the loop or reports the failure.
                self.finished.set()
        return follows

    def _turn(self) -> bool:
        self._calls.serve()
        self._beat_ms, self._turned_at = now_ms(), self._monotonic()
        lease = self._lease
        assert lease is not None
        # Also during a lease: if the lease's thread hangs and does not prolong the loop, the group must not stay here
        # for ever.
        if self._monotonic() > self._deadline:
            self._give_up()
            return False
        # Without a lease, the driver does not know that this loop runs. It must not take the group from another
        # worker.
        if not self.group.is_open and not self._is_held:
            self._rest()
            return True
        try:
            if not self.group.is_open:
                self._reopen(lease)
            if self.finished.is_set():
                self._rest()
            else:
                # Also if nothing is to be read, because a conversion or a restored position has to be committed, too.
                self.group.cycle(lease, _CYCLE_SECONDS)
                if not self._is_held:
                    self.group.confirm(_CONFIRM_SECONDS)
                if self.group.is_done(lease):
                    self.group.mark()
                    self.finished.set()
            self._failures, self.trouble = 0, ""
        # Not retried, although it is Unavailable: two workers that take a group back would fence each other
        # forever.
        except GroupFenced:
            raise
        except (Unavailable, MemoryError) as error:
            self._take_back(error)
            self._failures += 1
        return True

    def _reopen(self, lease: Lease) -> None:
        """Open the group again. Meanwhile the loop does not count as stuck, because a replay may take long."""
        self._is_opening = True
        try:
            self.group.open(lease, lambda: self._is_held)
        finally:
            self._turned_at, self._is_opening = self._monotonic(), False
        log.info("%s: the group is open again and continues", self.group.settings.name)

    def _rest(self) -> None:
        self._calls.wait(_CYCLE_SECONDS)

    def _take_back(self, error: Exception) -> None:
        """Discard uncommitted work, and pause before the next attempt."""
        self.group.abandon()
        self.trouble = str(error) or type(error).__name__
        if isinstance(error, MemoryError | TransactionTooLong):
            most = self._pacing.halve()
            log.warning("%s: %s: commits have at most %d records now", self.group.settings.name, self.trouble, most)
        if self._failures:
            self._pause(_PAUSE_SECONDS[min(self._failures, len(_PAUSE_SECONDS)) - 1])
        if self._failures in (0, 3):
            then = "retrying" if self._is_held else "the loop waits for its next lease"
            log.warning("%s: %s: %s", self.group.settings.name, self.trouble, then)

    def _pause(self, seconds: float) -> None:
        self._ending.wait(seconds)

    def _give_up(self) -> None:
        log.warning("%s: no lease for %.0f s: stopping the loop", self.group.settings.name, self._grace)
        self.group.close()
