"""Building of the images under test, and loading into the cluster."""

from __future__ import annotations

import os
import shlex
import uuid
from pathlib import Path

from cluster.kube import run

_NAMES = {"forebay": "forebay", "platform": "forebay-platform"}
_S3_JARS = "JARS=org.apache.hadoop:hadoop-aws:3.5.0"


def tag_in_cluster() -> str:
    """Return the tag of images in the cluster. Build and load them, unless E2E_TAG names existing ones."""
    given = os.environ.get("E2E_TAG")
    if given:
        return given
    tag = f"e2e-{uuid.uuid4().hex[:6]}"
    for target, name in _NAMES.items():
        _build(f"{name}:{tag}", "--target", target, ".")
    return tag


def tagged_anew(name: str, tag: str) -> str:
    """Add another tag to an image in the cluster, and return the tag."""
    another = f"{tag}-{uuid.uuid4().hex[:4]}"
    run("docker", "tag", f"{name}:{tag}", f"{name}:{another}")
    load(f"{name}:{another}")
    return another


def with_other_code(tag: str) -> str:
    """Return the tag of a new image, whose workers and those of `tag` can't read each other's messages."""
    other = f"{tag}-{uuid.uuid4().hex[:4]}"
    given = Path(__file__).with_name("other_code.dockerfile").read_text()
    _build(f"forebay:{other}", "--build-arg", f"IMAGE=forebay:{tag}", "-", given=given)
    return other


def object_store_tag_in_cluster() -> str:
    """Return the tag of forebay with an object store's jars and of forebay-s3, or E2E_OBJECT_STORE_TAG if it is set."""
    given = os.environ.get("E2E_OBJECT_STORE_TAG")
    if given:
        return given
    tag = f"e2e-s3-{uuid.uuid4().hex[:6]}"
    _build(f"forebay:{tag}", "--target", "forebay", "--build-arg", _S3_JARS, ".")
    _build(f"forebay-s3:{tag}", "-", given=Path(__file__).with_name("s3.dockerfile").read_text())
    return tag


def _build(image: str, *arguments: str, given: str | None = None) -> None:
    """Build an image, and load it into the cluster."""
    os.environ.setdefault("DOCKER_BUILDKIT", "1")
    base = os.environ.get("BASE")
    chosen = ("--build-arg", f"BASE={base}") if base else ()
    run("docker", "build", "--tag", image, *chosen, *arguments, seconds=1800, given=given)
    load(image)


def load(image: str) -> None:
    """Load an image into the cluster."""
    run(*shlex.split(os.environ.get("E2E_LOAD", "kind load docker-image")), image, seconds=600)
