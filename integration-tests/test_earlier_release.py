"""What an earlier release left in mid-stream is taken over from its changelogs, or refused with what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from join_replays import check_bills, check_prices
from released import DATA, GRACE_MS, HOME, SERVICES, ReleasedBench, application, unpack
from replays import check

from forebay.platform import Platform, Ports
from forebay.platform.ports import free_port

RELEASES = sorted(folder.name for folder in DATA.iterdir() if folder.is_dir())
FEWEST_UNUSABLE = 30


def check_many_bills(bench: ReleasedBench) -> None:
    check_bills(bench, GRACE_MS, at_least=300)
    check_prices(bench)


CHECKS: dict[str, Callable[[ReleasedBench], None]] = {
    "user-sessions": lambda bench: check("user-sessions", bench, FEWEST_UNUSABLE),
    "order-stores": lambda bench: check("order-stores", bench, FEWEST_UNUSABLE),
    "price-join": check_many_bills,
}


@pytest.fixture(scope="module", params=RELEASES)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    unpack(request.param, folder)
    return folder


@pytest.fixture(scope="module")
def platform(folder: Path) -> Iterator[Platform]:
    """Run broker and registry on the data they had then."""
    broker = free_port()
    with Platform(folder / HOME, Ports(broker, free_port(frozenset({broker})))) as running:
        yield running


@pytest.mark.timeout(600)
@pytest.mark.parametrize("service", SERVICES)
def test_this_code_goes_on_where_the_earlier_release_was_killed(platform: Platform, folder: Path, service: str) -> None:
    bench = ReleasedBench(platform, service, application(service), folder, SERVICES[service])
    try:
        refused = bench.job("--trigger", "available-now")
        assert refused.finish(400) == 1
        assert "written by another release: move it away, and `forebay run --restore`" in refused.text()
        bench.lose_checkpoint()
        job = bench.job("--trigger", "available-now", "--restore", log="-restored")
        if service == "order-stores":
            assert job.finish(400) == 1
            assert "Let that release finish it (`forebay run --trigger available-now`)" in job.text()
            return
        assert job.finish(400) == 0, job.text()
    finally:
        bench.close()
    assert job.total("restored_rows") > 20
    assert job.records_in() > 300
    CHECKS[service](bench)
