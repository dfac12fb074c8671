"""The images under test, in the cluster."""

from __future__ import annotations

import os
import shlex
import uuid

from kube import run

_NAMES = {"forebay": "forebay", "platform": "forebay-platform"}


def tag_in_cluster() -> str:
    """Build the images and load them into the cluster, unless E2E_TAG names those it has; give their tag."""
    given = os.environ.get("E2E_TAG")
    if given:
        return given
    tag = f"e2e-{uuid.uuid4().hex[:6]}"
    os.environ.setdefault("DOCKER_BUILDKIT", "1")
    load = shlex.split(os.environ.get("E2E_LOAD", "kind load docker-image"))
    for target, name in _NAMES.items():
        run("docker", "build", "--target", target, "--tag", f"{name}:{tag}", ".", seconds=1800)
        run(*load, f"{name}:{tag}", seconds=600)
    return tag
