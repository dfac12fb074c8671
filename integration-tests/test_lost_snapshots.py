"""If a checkpoint has no snapshots, like those of release 0.2, the job reads its changelogs and loses nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench import Bench

from forebay.platform import Platform
from forebay.producing.base import Options

pytestmark = pytest.mark.timeout(900)

START_MS = 1_735_689_600_000


def events(seed: int, start_ms: int) -> Options:
    return Options(count=6_000, keys=150, seed=seed, duplicates=0.03, malformed=0.02, start_ms=start_ms, event_rate=20)


@pytest.fixture
def bench(platform: Platform, tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(platform, "lost-snapshots", tmp_path)
    yield bench
    bench.close()


def files(bench: Bench, suffix: str) -> list[Path]:
    return sorted((bench.checkpoint / "snapshots").rglob(f"*.{suffix}"))


def test_lost_or_corrupt_snapshots_are_rebuilt_from_changelogs(bench: Bench) -> None:
    bench.produce(events(41, START_MS))
    bench.drain()
    assert files(bench, "manifest")
    shutil.rmtree(bench.checkpoint / "snapshots")
    bench.produce(events(42, START_MS + 400_000))
    bench.drain()
    assert files(bench, "manifest"), "the next lease writes all rows again"
    for manifest in files(bench, "manifest"):
        manifest.write_bytes(manifest.read_bytes()[:-1])
    bench.produce(events(43, START_MS + 800_000))
    job = bench.drain()
    assert "no snapshot can be used: reading the changelogs from the beginning" in job.text()
    bench.check()
