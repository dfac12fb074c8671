"""Wait for conditions in a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import pytest

T = TypeVar("T")


def poll_until(check: Callable[[], T], description: str, seconds: float = 120.0, every: float = 0.5) -> T:
    """Give what `check` gives once that is true; fail the test with the description after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            pytest.fail(f"not within {seconds:.0f} s: {description} (last answer: {result!r})")
        time.sleep(every)
