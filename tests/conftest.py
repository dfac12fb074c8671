"""What all tests share: how property tests run, and the terminal that is written for.

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

# That of whoever runs the tests may be none, or a dumb one.
os.environ["TERM"] = "xterm"


@pytest.fixture(autouse=True)
def _starts_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """`forebay run` starts Java first, whatever comes then."""

    def start(_settings: Mapping[str, str]) -> None:
        raise RuntimeError("these tests have no Spark")

    monkeypatch.setattr("forebay.runtime.session.start_jvm", start)


@pytest.fixture
def registry() -> Iterator[LocalSubjects]:
    """Yield the process's registry, a local one."""
    local_subjects = LocalSubjects()
    connect(local_subjects)
    yield local_subjects
    connect(LocalSubjects())
