"""Tests in a real cluster: `make e2e`, or FOREBAY_E2E=1 KUBECONFIG=... pytest integration-tests/cluster.

Environment:
    FOREBAY_E2E: collects these tests at all.
    E2E_TAG: tag of images the cluster has already; without it they are built and loaded.
    E2E_LOAD: command that loads images into the cluster (default: kind load docker-image).
    E2E_FAILURES: where logs, events and descriptions go when a test fails (default: e2e-failures).
"""

from __future__ import annotations

import os
import shlex
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1]))

if os.environ.get("FOREBAY_E2E"):
    from kube import Namespace, run
    from release import ClusterBench, Release
else:
    collect_ignore_glob = ["test_*.py"]

IMAGES = {"forebay": "forebay", "platform": "forebay-platform"}


@pytest.fixture(scope="session")
def image_tag() -> str:
    """Build the images and load them into the cluster, unless E2E_TAG names those it has."""
    given = os.environ.get("E2E_TAG")
    if given:
        return given
    tag = f"e2e-{uuid.uuid4().hex[:6]}"
    os.environ.setdefault("DOCKER_BUILDKIT", "1")
    load = shlex.split(os.environ.get("E2E_LOAD", "kind load docker-image"))
    for target, name in IMAGES.items():
        run("docker", "build", "--target", target, "--tag", f"{name}:{tag}", ".", seconds=1800)
        run(*load, f"{name}:{tag}", seconds=600)
    return tag


@pytest.fixture(scope="module")
def release(image_tag: str, request: pytest.FixtureRequest) -> Iterator[Release]:
    """Give a namespace that holds pods to the Restricted standard, and the release to install there."""
    namespace = Namespace(f"forebay-{uuid.uuid4().hex[:6]}")
    run("kubectl", "create", "namespace", namespace.name)
    run("kubectl", "label", "namespace", namespace.name, "pod-security.kubernetes.io/enforce=restricted")
    service, producer = getattr(request.module, "SERVICE", ("user-sessions", "user-activity"))
    release = Release(namespace, service, producer, image_tag)
    yield release
    failed = request.session.testsfailed > 0
    folder = Path(os.environ.get("E2E_FAILURES", "e2e-failures")) / namespace.name
    release.remove(folder if failed else None)


@pytest.fixture(scope="module")
def bench(release: Release) -> ClusterBench:
    """Install the release without a producer, and reach its broker."""
    release.apply()
    return release.open()
