"""Calls that must not exceed a deadline, even if the library underneath blocks."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Protocol

log = logging.getLogger(__name__)

_CLOSING_SECONDS = 10.0


class DeadlineExceeded(Exception):
    """The call did not return in time. It may still be running, so the objects that it uses must not be touched."""


def within(seconds: float, call: Callable[[], object]) -> None:
    """Run `call` on its own thread and wait for it, at most `seconds`.

    Raises:
        DeadlineExceeded: the call is still running. Also any exception of `call`.
    """
    failures: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            failures.append(error)

    # A daemon, because a call that never returns must not keep the process from ending.
    thread = threading.Thread(target=run, name="deadline", daemon=True)
    thread.start()
    # Python can't interrupt a native call, so the call is left on its thread, and only the wait ends.
    thread.join(seconds)
    if thread.is_alive():
        raise DeadlineExceeded
    if failures:
        raise failures[0]


class Client(Protocol):
    """A client of a broker."""

    def close(self) -> object:
        """Close the connections."""


def leave(client: Client, seconds: float = _CLOSING_SECONDS) -> None:
    """Close a client; if it waits longer for its broker than `seconds`, continue without it.

    librdkafka has no timeout for closing a client, so the caller could wait forever. A client that does not close ends
    with its process.
    """
    try:
        within(seconds, client.close)
    except DeadlineExceeded:
        log.warning("a client of the broker did not end within %g s: continuing without it", seconds)
