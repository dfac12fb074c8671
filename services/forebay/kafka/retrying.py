"""Retries of failures that may pass, with log lines when they begin, each minute, and when they end."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from forebay.codec import Unavailable
from forebay.kafka.errors import LoginRefused

T = TypeVar("T")
log = logging.getLogger("forebay.kafka")

_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 5.0
_REMIND_S = 60.0
REFUSED_S = 60.0
"""How long a process in a pod retries a refused login, in seconds. Then it ends, because only its next container reads
a changed Secret."""


def keep_trying(
    action: Callable[[], T],
    for_seconds: float = float("inf"),
    *,
    refused_for: float = float("inf"),
    clock: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> T:
    """Return the result of `action`, and retry it while it raises Unavailable.

    Args:
        for_seconds: how long to retry; then the last Unavailable is raised.
        refused_for: how long to retry while the broker refuses our login; then LoginRefused is raised.
        clock: seconds, monotonic.
        pause: waits for a number of seconds.
    """
    began = clock()
    wait = _FIRST_PAUSE_S
    failures = 0
    logged_at = admitted_at = began
    while True:
        try:
            result = action()
        except Unavailable as error:
            left = began + for_seconds - clock()
            now = clock()
            if not isinstance(error, LoginRefused):
                admitted_at = now
            if left <= 0 or now - admitted_at >= refused_for:
                raise
            if not failures:
                log.warning("%s: retrying", error)
            elif clock() - logged_at >= _REMIND_S:
                log.warning("%s: still retrying after %.0f s", error, clock() - began)
                logged_at = clock()
            failures += 1
            pause(min(wait, left))
            wait = min(2 * wait, _LONGEST_PAUSE_S)
        else:
            if failures:
                log.warning("recovered after %.1f s", clock() - began)
            return result
