"""While the checkpoint volume is full, the job waits and reports it. It resumes exactly once when there is space."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from cluster.kube import run
from cluster.polling import poll_until
from cluster.release import Load, Release

pytestmark = pytest.mark.timeout(1200, func_only=True)

SIZE = "48Mi"
CLAIM = "small"


def is_here() -> bool:
    """Return whether this machine is the cluster's only node and allows this user to mount a small volume."""
    addresses = run(
        "kubectl", "get", "nodes", "-o", "jsonpath={.items[*].status.addresses[?(@.type=='InternalIP')].address}"
    )
    if os.geteuid() != 0 or len(addresses.split()) != 1:
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        return probe.connect_ex((addresses, 9)) == 0 and probe.getsockname()[0] == addresses


@pytest.fixture(scope="module")
def volume(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Create a volume of 48 MiB with the claim `small`, and yield its folder."""
    if not is_here():
        pytest.skip("a volume of a fixed size is made on the node: that must be this machine, as root")
    folder = tmp_path_factory.mktemp("volume")
    run(
        "mount",
        "-t",
        "tmpfs",
        "-o",
        f"size={SIZE.removesuffix('i')},uid=10001,gid=10001,mode=0770",
        "tmpfs",
        str(folder),
    )
    name = release.namespace.name
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    release.namespace.create(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                **spec,
                "capacity": {"storage": SIZE},
                "hostPath": {"path": str(folder)},
                "claimRef": {"namespace": name, "name": CLAIM},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": CLAIM, "namespace": name},
            "spec": {**spec, "volumeName": name, "resources": {"requests": {"storage": SIZE}}},
        },
    )
    yield folder
    release.namespace.helm("uninstall", "demo", "--wait", check=False)
    run("kubectl", "delete", "pv", name, "--wait=false", check=False)
    run("umount", "-l", str(folder), check=False)


def test_the_job_reports_a_full_volume_and_resumes_once_there_is_space(release: Release, volume: Path) -> None:
    release.settings = [f"{release.service}.checkpoint.existingClaim={CLAIM}"]
    release.apply()
    bench = release.open()
    first = release.load(Load(seed=1, count=6_000))
    release.settle(bench, first, seconds=600)
    filler = volume / "filler"
    with filler.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(volume).f_bavail * os.statvfs(volume).f_bsize)
    second = release.load(Load(seed=2))
    release.finish(second)
    driver = release.driver
    poll_until(
        lambda: not release.namespace.is_ready(driver), "the driver is not ready while nothing can be written", 300
    )
    # Records are still processed, so the job becomes ready between two attempts to write its checkpoint.
    poll_until(
        lambda: "No space left on device: a volume is full" in release.namespace.readiness(driver), "it says why", 300
    )
    filler.unlink()
    release.settle(bench, second, seconds=600)
    poll_until(lambda: release.namespace.is_ready(driver), "the driver is ready again", 120)
