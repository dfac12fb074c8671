"""Configuration of all tests: how property tests run, the terminal size, and what would only cost time.

Properties have no deadlines (a busy machine is no failure), and in CI the same examples each time.
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

# The terminal of the test run may be missing or dumb.
os.environ["TERM"] = "xterm"


async def _pause(seconds: float) -> None:
    await asyncio.sleep(seconds / 10)


@pytest.fixture(scope="session", autouse=True)
def _servers_close_soon() -> Iterator[None]:
    """Let uvicorn notice after 10 ms rather than 100 ms that it is closed; hundreds of tests close a server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", SimpleNamespace(**{**vars(asyncio), "sleep": _pause}))
        yield


def pytest_collection_finish() -> None:
    """Take the tests themselves out of garbage collections, which would look at them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


@pytest.fixture(autouse=True)
def _starts_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the start of Java, which is the first step of `forebay run`, by nothing."""

    def start(_settings: Mapping[str, str]) -> None:
        raise RuntimeError("these tests have no Spark")

    monkeypatch.setattr("forebay.runtime.driver.session.start_jvm", start)


@pytest.fixture(autouse=True)
def _keeps_its_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the registry that a test connects, for example by a command: test drivers of other tests would use it."""
    monkeypatch.setattr(subjects, "_connected", list(subjects._connected))


@pytest.fixture
def registry() -> Iterator[LocalSubjects]:
    """Yield the process's registry, a local one."""
    local_subjects = LocalSubjects()
    connect(local_subjects)
    yield local_subjects
    connect(LocalSubjects())
