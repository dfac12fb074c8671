"""Configuration of all tests: property tests, the terminal, and fixtures that save time or isolate tests.

Property tests have no deadlines, so that they don't fail on a busy machine. In CI, their examples are always the same.
"""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Iterator, Mapping
from types import SimpleNamespace

import pytest
from hypothesis import settings

from forebay.serde import subjects
from forebay.serde.subjects import LocalSubjects, connect

settings.register_profile("forebay", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("forebay")

# The tests may run without a terminal, or with one of type `dumb`.
os.environ["TERM"] = "xterm"


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds / 10)


@pytest.fixture(scope="session", autouse=True)
def _servers_close_soon() -> Iterator[None]:
    """Make uvicorn poll every 10 ms, rather than 100 ms, for its end, because hundreds of tests close a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _pause}))
        yield


def pytest_collection_finish() -> None:
    """Exclude the objects of the collected tests from garbage collection, which would traverse them repeatedly."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(autouse=True)
def _starts_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent the start of Java, the first step of `forebay run`, because these tests have no Spark."""

    def start(_settings: Mapping[str, str]) -> None:
        raise RuntimeError("these tests have no Spark")

    monkeypatch.setattr("forebay.runtime.driver.session.start_jvm", start)


@pytest.fixture(autouse=True)
def _keeps_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disconnect the registry that a test connects, because test drivers of later tests would use it."""
    monkeypatch.setattr(subjects, "_connected", list(subjects._connected))


@pytest.fixture
def registry() -> Iterator[LocalSubjects]:
    """Connect a local registry for this process, and yield it."""
    local_subjects = LocalSubjects()
    connect(local_subjects)
    yield local_subjects
    connect(LocalSubjects())
