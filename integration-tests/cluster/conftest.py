"""Tests in a real cluster: `make e2e`, or FOREBAY_E2E=1 KUBECONFIG=... pytest integration-tests/cluster.

Environment:
    FOREBAY_E2E: if set, these tests are collected.
    E2E_TAG: tag of images that are already in the cluster. If unset, images are built and loaded.
    E2E_LOAD: command that loads images into the cluster (default: kind load docker-image).
    BASE: base image of the built images, instead of that of the Dockerfile.
    E2E_OBJECT_STORE: if set, test_object_store.py is also collected. Its image has an object store's jars (690 MB
    more). E2E_OBJECT_STORE_TAG: tag of its images that are already in the cluster (forebay with jars, forebay-s3).
    E2E_FAILURES: folder for logs, events and descriptions if a test fails (default: e2e-failures).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))

if os.environ.get("FOREBAY_E2E"):
    from cluster.images import tag_in_cluster
    from cluster.kube import Namespace
    from cluster.release import ClusterBench, Release

    collect_ignore = [] if os.environ.get("E2E_OBJECT_STORE") else ["test_object_store.py"]
else:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def image_tag() -> str:
    """Return the tag of the images in the cluster."""
    return tag_in_cluster()


@pytest.fixture(scope="module")
def release(image_tag: str, request: pytest.FixtureRequest) -> Iterator[Release]:
    """Yield a namespace that enforces the Restricted standard for pods, and the release to install there."""
    namespace = Namespace.create_restricted()
    service, producer = getattr(request.module, "SERVICE", ("user-sessions", "user-activity"))
    release = Release(namespace, service, producer, image_tag)
    yield release
    failed = request.session.testsfailed > 0
    folder = Path(os.environ.get("E2E_FAILURES", "e2e-failures")) / namespace.name
    release.remove(folder if failed else None)


@pytest.fixture(scope="module")
def bench(release: Release) -> ClusterBench:
    """Install the release without a producer, and connect to its broker."""
    release.apply()
    return release.open()
