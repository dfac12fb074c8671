"""Configuration of all tests: how property tests run, and the terminal size.

Properties have no deadlines (a busy machine is no failure), and in CI the same examples each time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest
from hypothesis import settings

from forebay.serde.subjects import LocalSubjects, connect

settings.register_profile("forebay", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("forebay")

# The terminal of the test run may be missing or dumb.
os.environ["TERM"] = "xterm"


@pytest.fixture(autouse=True)
def _starts_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the start of Java, which is the first step of `forebay run`, by nothing."""

    def start(_settings: Mapping[str, str]) -> None:
        raise RuntimeError("these tests have no Spark")

    monkeypatch.setattr("forebay.runtime.driver.session.start_jvm", start)


@pytest.fixture
def registry() -> Iterator[LocalSubjects]:
    """Yield the process's registry, a local one."""
    local_subjects = LocalSubjects()
    connect(local_subjects)
    yield local_subjects
    connect(LocalSubjects())
