"""A KSML definition and its producer run in a cluster. Only the file, a chart value, differs from other services."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster.kube import chart
from cluster.polling import poll_until
from cluster.release import ALL, ClusterBench, Release
from ksml_records import by_key, records_of

from charts.umbrella import UMBRELLA
from tests.ksml.bodies import DEFINITIONS, expected_records

pytestmark = pytest.mark.timeout(1200, func_only=True)

PARTS = ("user-sessions", "user-activity")
NAME = "ksml-sessions"
SOURCE, TARGET = "ksml_user_activity", "ksml_user_session_stats"
EACH_RUN = 300
"""Records of the definition's producer."""


def install(release: Release, folder: Path, run: int) -> None:
    """Install or upgrade the release: a service and, if `run` is positive, a producer of the same definition."""
    ksml = {"ksml": {"definitions": {"user-sessions.yaml": (DEFINITIONS / "user-sessions.yaml").read_text()}}}
    small = {"resources": {"requests": {"cpu": "50m"}}}
    service = {"service": NAME, "inputs": [SOURCE], "output": TARGET, "driver": small, "executor": small}
    values: dict[str, Any] = {
        "global": {"image": {"tag": release.tag}},
        **{name: {"enabled": False} for name in ALL if name not in PARTS},
        PARTS[0]: {**service, **ksml},
        PARTS[1]: {"enabled": run > 0, "topic": SOURCE, "count": EACH_RUN, "podAnnotations": {"run": str(run)}, **ksml},
    }
    file = folder / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    arguments = ("--wait", "--timeout", "10m", "-f", str(file))
    release.namespace.helm("upgrade", "--install", release.name, chart(UMBRELLA), *arguments)


def has_results(bench: ClusterBench, count: int) -> bool:
    """Return whether there are at least `count` results."""
    return len(records_of(bench.settings, TARGET)) >= count


@pytest.fixture
def bench(release: Release, tmp_path: Path) -> ClusterBench:
    """Install the definition without its producer, and connect to the broker."""
    install(release, tmp_path, 0)
    return release.open()


def test_ksml_definition_and_producer_give_the_expected_results(
    release: Release, bench: ClusterBench, tmp_path: Path
) -> None:
    driver = f"{release.name}-{NAME}-0"
    for run in (1, 2):
        before = set(release.namespace.names("jobs"))
        install(release, tmp_path, run)
        (job,) = set(release.namespace.names("jobs")) - before
        release.finish(job)
        poll_until(
            partial(has_results, bench, run * EACH_RUN),
            lambda: f"{TARGET} has all results; the driver's log ends: {release.log(driver)[-800:]}",
            300,
        )
        if run == 1:
            release.replace(driver)
    records, sent = records_of(bench.settings, SOURCE), records_of(bench.settings, TARGET)
    assert len(records) == 2 * EACH_RUN
    assert by_key(sent) == by_key(expected_records("user-sessions", records))
