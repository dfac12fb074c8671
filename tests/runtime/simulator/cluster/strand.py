"""A thread that runs only while the scheduler waits for it, so that a seed also determines how blocking code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable


class _Killed(BaseException):
    """Raised in `wait` if the process of the thread is killed."""


class Strand:
    """Thread for a function that calls `wait` instead of blocking.

    Args:
        run: The function.
        now: Returns the simulated time in seconds.

    Attributes:
        wakes_at: Time at which it continues.
        failure: Exception that ended it.
    """

    def __init__(self, run: Callable[[], None], now: Callable[[], float]) -> None:
        self._run = run
        self._now = now
        self._go, self._back = threading.Lock(), threading.Lock()
        for turn in (self._go, self._back):
            turn.acquire()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self.is_killed = self.is_over = False
        self.wakes_at = 0.0
        self.failure: BaseException | None = None

    def resume(self) -> None:
        """Let the thread run until it calls `wait` or ends."""
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._go.release()
        self._back.acquire()

    def wait(self, seconds: float) -> None:
        """Let the scheduler continue for a number of seconds. Only the thread itself calls this."""
        self.wakes_at = self._now() + seconds
        self._back.release()
        self._go.acquire()
        if self.is_killed:
            raise _Killed

    def kill(self) -> None:
        """End the thread, which is in `wait`."""
        self.is_killed = True
        if self._thread.ident is None:
            self.is_over = True
        elif not self.is_over:
            self.resume()

    def _work(self) -> None:
        try:
            self._run()
        except _Killed:
            pass
        except BaseException as error:
            self.failure = error
        self.is_over = True
        self._back.release()
