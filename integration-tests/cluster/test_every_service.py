"""Each service runs in turn in one release. Its results equal an independent replay of its producer's records."""

from __future__ import annotations

import pytest
from cluster.release import ClusterBench, Load, Release
from join_replays import CHECKS
from replays import REPLAYS, check

from forebay.catalog import find_service

pytestmark = pytest.mark.timeout(1200, func_only=True)

SETTINGS = {
    "windowed-metrics": ["windowed-metrics.settings.emit_results=both"],
    "price-join": ["price-join.settings.grace_ms=1000", "price-join.settings.history_retention_ms=3600000"],
    "menu-votes": ["menu-votes.settings.history_retention_ms=3600000"],
}


@pytest.mark.parametrize("service", [name for name in (*REPLAYS, *CHECKS) if name != "user-sessions"])
def test_every_output_equals_the_replay(release: Release, bench: ClusterBench, service: str) -> None:
    release.service = service
    release.settings = SETTINGS.get(service, [])
    release.apply()
    own = ClusterBench(service, bench.settings)
    for topic in find_service(service).inputs:
        release.producer = topic.name.replace("_", "-")
        release.finish(release.load(Load(seed=1, count=6_000)))
        release.until_read(own)
    if service in CHECKS:
        CHECKS[service](own)
    else:
        check(service, own)
