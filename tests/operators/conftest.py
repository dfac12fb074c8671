"""A bench for each backend. Every test that uses `bench` runs on both backends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from forebay.testing.bench import Backend, Bench, open_bench


@pytest.fixture(params=list(Backend), ids=lambda backend: str(backend.value))
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    with open_bench(request.param, tmp_path) as opened:
        yield opened
