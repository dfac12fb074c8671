"""A service with its checkpoint in an object store needs no volume. After each fault, its results equal the replay."""

from __future__ import annotations

import pytest
from cluster.images import object_store_tag_in_cluster
from cluster.object_store import KEYS, SECRET, ObjectStore
from cluster.polling import poll_until
from cluster.release import ClusterBench, Load, Release

pytestmark = pytest.mark.timeout(1200, func_only=True)


@pytest.fixture(scope="module")
def store(release: Release) -> ObjectStore:
    """Start the object store in which the release's service keeps its checkpoint."""
    store = ObjectStore(release.namespace)
    release.settings = store.start_for(release.service, object_store_tag_in_cluster())
    return store


@pytest.fixture(scope="module")
def bench(release: Release, store: ObjectStore) -> ClusterBench:
    """Install the release, and connect to its broker."""
    release.apply()
    return release.open()


def test_every_output_equals_the_replay(release: Release, bench: ClusterBench, store: ObjectStore) -> None:
    release.settle(bench, release.load(Load(seed=1, count=6_000)))
    assert release.namespace.is_ready(release.driver)
    assert {name.split("/")[1] for name in store.objects()} >= {"metadata", "offsets", "commits", "snapshots"}


def test_the_service_has_no_volume(release: Release, bench: ClusterBench) -> None:
    assert sorted(release.namespace.names("pvc")) == ["data-demo-broker-0", "data-demo-registry-0"]
    for pod in (release.driver, release.executor()):
        volumes = release.namespace.get("pod", pod)["spec"]["volumes"]
        assert not [volume for volume in volumes if "persistentVolumeClaim" in volume]


def test_the_keys_are_in_the_secret_only(release: Release, bench: ClusterBench) -> None:
    objects = release.namespace.kubectl("get", "pods,deployments,configmaps", "-o", "yaml")
    assert SECRET in objects
    for value in KEYS.values():
        assert value not in objects + release.log() + release.log(release.executor(), "executor")


def test_scaling_out_under_load(release: Release, bench: ClusterBench) -> None:
    job = release.load(Load(seed=2, rate=60))
    release.scale(2)
    poll_until(lambda: "now 2 executors: redistributing the tasks" in release.log(), "the driver uses 2 executors", 300)
    release.settle(bench, job)


@pytest.mark.parametrize("pod", ["driver", "executor"])
def test_deleting_a_pod_under_load_loses_no_record(release: Release, bench: ClusterBench, pod: str) -> None:
    names = {"driver": release.driver, "executor": release.executor()}
    job = release.be_busy(bench, seed=3 + list(names).index(pod))
    release.replace(names[pod])
    release.settle(bench, job)


def test_killing_processes_under_load_loses_no_record(release: Release, bench: ClusterBench) -> None:
    job = release.be_busy(bench, seed=5)
    release.kill(release.driver, release.executor())
    release.settle(bench, job)
