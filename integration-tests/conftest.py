"""Fixtures of the integration tests. A real broker and registry run during the session, on free ports."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forebay.platform import Endpoints, Platform

sys.path.append(str(Path(__file__).parent))

WaitUntil = Callable[..., None]


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Run the embedded platform. A test that stops a part of it must restart this part."""
    with Platform(tmp_path_factory.mktemp("forebay")) as running:
        yield running


@pytest.fixture
def endpoints(platform: Platform) -> Endpoints:
    """Return the endpoints of a running platform, which is restarted if the previous test stopped it."""
    return platform.up()


@pytest.fixture(scope="session")
def wait_until() -> WaitUntil:
    """Return a function that waits for a condition: wait_until(check, "description", seconds=120)."""

    def wait(check: Callable[[], bool], description: str, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not check():
            if time.monotonic() > deadline:
                pytest.fail(f"not within {seconds:.0f} s: {description}")
            time.sleep(0.05)

    return wait
