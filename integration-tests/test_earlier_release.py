"""The state of a killed job of an earlier release is restored from its changelogs, or refused with the remedy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from released import DATA, HOME, SERVICES, ReleasedBench, application, unpack

from forebay.platform import Platform, Ports
from forebay.platform.ports import free_port

RELEASES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())


@pytest.fixture(scope="module", params=RELEASES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    unpack(request.param, folder)
    return folder


@pytest.fixture(scope="module")
def platform(folder: Path) -> Iterator[Platform]:
    """Run the broker and the registry with the data of the release."""
    broker = free_port()
    with Platform(folder / HOME, Ports(broker, free_port(frozenset({broker})))) as running:
        yield running


@pytest.mark.timeout(600)
@pytest.mark.parametrize("service", SERVICES)
def test_state_of_an_earlier_release_is_refused_with_the_restore_command(
    platform: Platform, folder: Path, service: str
) -> None:
    bench = ReleasedBench(platform, service, application(service), folder, SERVICES[service])
    try:
        refused = bench.job("--trigger", "available-now")
        assert refused.finish(400) == 1
        assert "written by another release: move it away, and `forebay run --restore`" in refused.text()
        bench.lose_checkpoint()
        job = bench.job("--trigger", "available-now", "--restore", log="-restored")
        assert job.finish(400) == 1
        assert "Run the release before this one once" in job.text()
    finally:
        bench.close()
