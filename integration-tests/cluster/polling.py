"""Polling of conditions in a cluster."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import TypeVar

import pytest
from cluster.kube import CommandFailed
from confluent_kafka import KafkaException

T = TypeVar("T")

_NOT_NOW = (CommandFailed, KafkaException, subprocess.TimeoutExpired)


def poll_until(
    check: Callable[[], T], description: str | Callable[[], str], seconds: float = 120.0, every: float = 0.5
) -> T:
    """Return the result of `check` once it is true. After `seconds`, fail the test with the description.

    An unreachable API server or broker counts as false. If the description is a function, it is called on failure.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            result = check()
            if result:
                return result
            last = repr(result)
        except _NOT_NOW as error:
            last = str(error)
        if time.monotonic() > deadline:
            said = description if isinstance(description, str) else description()
            pytest.fail(f"not within {seconds:.0f} s: {said} (last answer: {last})")
        time.sleep(every)
