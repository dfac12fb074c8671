"""Each service in turn in one release: what its producer wrote comes out as its independent replay says."""

from __future__ import annotations

import pytest
from polling import poll_until
from release import ClusterBench, Load, Release
from replays import REPLAYS, check

from forebay.catalog import find_service

pytestmark = pytest.mark.timeout(1200)

SETTINGS = {"windowed-metrics": ["windowed-metrics.settings.emit_results=both"]}


@pytest.mark.parametrize("service", [name for name in REPLAYS if name != "user-sessions"])
def test_every_output_equals_the_replay(release: Release, bench: ClusterBench, service: str) -> None:
    release.service = service
    release.producer = find_service(service).inputs[0].name.replace("_", "-")
    release.settings = [f"{service}.options.tick-ms=0", *SETTINGS.get(service, [])]
    release.apply()
    own = ClusterBench(service, bench.settings)
    release.finish(release.load(Load(seed=1, count=6_000)))
    poll_until(own.is_caught_up, f"{service} has read its input; its log ends: {release.log()[-800:]}", 300)
    check(service, own)
