"""Calls that a lease makes on the thread of a group's loop, between two commits."""

from __future__ import annotations

import queue
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

from forebay.runtime.errors import Unavailable

ANSWER_SECONDS = 15.0
"""How long a lease waits for its loop to begin a call. It is shorter than the grace period, because a lease that is
about to end delays the next leases of all groups, whose loops would stop."""

RUNNING_SECONDS = 120.0
"""How long a call may take once it has begun."""

_LOOK_SECONDS = 0.2

T = TypeVar("T")


class LoopEnded(Unavailable):
    """The loop no longer runs. Its group has to be opened again."""


class LoopBusy(Unavailable):
    """The loop is in a long commit and will not begin the request any more, so the request may be repeated."""


class LoopCalls:
    """Calls that wait for the loop's thread, which alone may use the group.

    Args:
        name: name of the group.
        is_alive: returns whether the loop runs.
    """

    def __init__(self, name: str, is_alive: Callable[[], bool], monotonic: Callable[[], float]) -> None:
        self._name = name
        self._is_alive = is_alive
        self._monotonic = monotonic
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def serve(self) -> None:
        """Run the calls that wait. Only the loop's thread calls this."""
        while not self._calls.empty():
            self._calls.get_nowait()()

    def wait(self, seconds: float) -> None:
        """Wait for a call and run it. Only the loop's thread calls this."""
        with suppress(queue.Empty):
            self._calls.get(timeout=seconds)()

    def run(self, call: Callable[[], T], seconds: float) -> T:
        """Run `call` on the loop's thread and return its result (arguments, errors: `GroupRunner.between_commits`)."""
        answer: Future[T] = Future()

        def run() -> None:
            # The lease gave up waiting, and the call may use objects of a lease that is over.
            if not answer.set_running_or_notify_cancel():
                return
            try:
                answer.set_result(call())
            # Every error is returned to the caller. Raised here, it would end the loop, which is not at fault.
            except BaseException as error:
                answer.set_exception(error)

        self._calls.put(run)
        asked = self._monotonic()
        while True:
            try:
                return answer.result(_LOOK_SECONDS)
            except TimeoutError as error:
                waited, name = self._monotonic() - asked, self._name
                # The call itself raised a TimeoutError: that is its answer.
                if answer.done():
                    raise
                # A call that was cancelled is never begun. A call that has begun can't be cancelled, and its answer
                # still comes.
                if not self._is_alive() and answer.cancel():
                    raise LoopEnded(f"{name}: the loop has ended") from error
                if waited > ANSWER_SECONDS and answer.cancel():
                    raise LoopBusy(f"{name}: the loop has been busy for {waited:.0f} s") from error
                if waited > ANSWER_SECONDS + seconds:
                    raise Unavailable(f"{name}: the loop has not answered a request for {waited:.0f} s") from error
