"""In a cluster, `forebay store upgrade`, `restore` and `rescale` run in a Job of the chart instead of the driver."""

from __future__ import annotations

import pytest
from cluster.polling import poll_until
from cluster.release import ClusterBench, Load, Release
from join_replays import check_bills

pytestmark = pytest.mark.timeout(1200, func_only=True)

SERVICE = ("price-join", "menu-prices")
OWN = ["price-join.settings.grace_ms=1000"]
DAY_MS = 86_400_000
MAINTENANCE = "app.kubernetes.io/component=maintenance"


def send(release: Release, producer: str, seed: int) -> None:
    release.producer = producer
    release.finish(release.load(Load(seed)))


def maintain(release: Release, command: str) -> str:
    """Run a command instead of the driver, and return the output of all attempts."""
    release.apply(f"price-join.maintenance.command={{{command}}}", wait=False)
    (job,) = release.namespace.names("jobs", MAINTENANCE)
    release.finish(job, 600)
    attempts = f"batch.kubernetes.io/job-name={job}"
    return release.namespace.kubectl("logs", "-l", attempts, "-c", "maintenance", "--tail=-1")


@pytest.fixture(scope="module")
def bench(release: Release) -> ClusterBench:
    """Install the release with the setting that the tests later change, and connect to its broker."""
    release.settings = [*OWN, "price-join.settings.history_retention_ms=43200000"]
    release.apply()
    return release.open()


def test_kubernetes_job_upgrades_a_store_while_the_driver_is_down(release: Release, bench: ClusterBench) -> None:
    for producer in ("menu-prices", "food-orders"):
        send(release, producer, seed=1)
        release.until_read(bench)

    release.settings = [*OWN, f"price-join.settings.history_retention_ms={DAY_MS}"]
    release.apply(wait=False)
    send(release, "menu-prices", seed=2)
    words = release.namespace.last_words
    poll_until(lambda: "forebay store upgrade" in words(release.driver), "the driver says what to do", 300)
    assert not release.namespace.is_ready(release.driver)

    assert "price-join-0-3: " in maintain(release, "store,upgrade")
    assert not release.namespace.uid(release.driver)
    release.until_read(bench)

    release.apply()
    assert not release.namespace.names("jobs", MAINTENANCE)
    send(release, "food-orders", seed=2)
    release.until_read(bench)
    check_bills(bench, grace_ms=1_000, idle_ms=1_000, at_least=2_000)


def test_a_lost_checkpoint_is_restored_by_a_job(release: Release, bench: ClusterBench) -> None:
    release.namespace.kubectl("scale", f"deployment/demo-{release.service}", "--replicas=0")
    poll_until(lambda: not release.namespace.uid(release.driver), "the driver is gone", 180)
    release.namespace.kubectl("exec", release.executor(), "--", "rm", "-r", f"/checkpoint/{release.service}")
    assert "restored " in maintain(release, "restore")
    release.apply()
    for producer in ("menu-prices", "food-orders"):
        send(release, producer, seed=3)
        release.until_read(bench)
    check_bills(bench, grace_ms=1_000, idle_ms=1_000, at_least=4_000)


def test_kubernetes_job_rescales_state_to_fewer_tasks(release: Release, bench: ClusterBench) -> None:
    assert bench.changelog_partitions() == {4}
    release.settings = [*release.settings, "price-join.tasks=2"]
    assert "records of 4 tasks staged for 2" in maintain(release, "rescale")
    assert bench.changelog_partitions() == {2}
    release.apply()
    for producer in ("menu-prices", "food-orders"):
        send(release, producer, seed=4)
        release.until_read(bench)
    check_bills(bench, grace_ms=1_000, idle_ms=1_000, at_least=6_000, tasks=2)
