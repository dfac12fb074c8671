"""Calls that must not outlast a deadline, whatever the library underneath does."""

from __future__ import annotations

import threading
from collections.abc import Callable


class DeadlineExceeded(Exception):
    """The call did not come back in time. It may still be running: what it works on must be left alone."""


def within(seconds: float, call: Callable[[], object]) -> None:
    """Run `call` on a thread of its own and wait for it, at most `seconds`.

    Raises:
        DeadlineExceeded: it is still running. Whatever `call` raises itself.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="deadline", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise DeadlineExceeded
    if failures:
        raise failures[0]
