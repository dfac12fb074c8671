"""A user's own service runs in a cluster with the image, values and commands of docs/new-service.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster.images import load
from cluster.kube import CHARTS
from cluster.polling import poll_until
from cluster.release import Release
from page_counts_results import check_counts, number_of

from tests.docs import walkthrough

pytestmark = pytest.mark.timeout(1200, func_only=True)

IMAGE = "page-counts:1"


@pytest.fixture
def folder(release: Release, tmp_path: Path) -> Path:
    """Return a folder with the page's files and a link to the charts. Its image is based on the tag under test."""
    walkthrough.write(tmp_path)
    (tmp_path / "charts").symlink_to(CHARTS)
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text(dockerfile.read_text().replace("forebay:dev", f"forebay:{release.tag}"))
    return tmp_path


def test_documented_commands_install_and_scale_a_new_service(release: Release, folder: Path) -> None:
    namespace = release.namespace
    build, install = walkthrough.commands("sh")
    built = walkthrough.shell(folder, build)
    assert built.returncode == 0, built.stderr
    load(IMAGE)
    kubectl = f'kubectl() {{ command kubectl -n {namespace.name} "$@"; }}\n'
    done = walkthrough.shell(
        folder, kubectl + install.replace("image.tag=dev", f"image.tag={release.tag}"), HELM_NAMESPACE=namespace.name
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Phase:          Succeeded" in done.stdout

    def count_ready() -> int:
        return int(namespace.get("deployment", "page-counts-executor")["status"].get("readyReplicas", 0))

    poll_until(lambda: count_ready() == 2, "two executors are ready", 180)

    namespace.helm("uninstall", "page-views", "--wait")
    settings = release.open("dev-broker-0", "dev-registry-0").settings
    poll_until(lambda: number_of(settings, "page_counts") >= number_of(settings, "page_views"), "all is counted", 180)
    assert check_counts(settings) > 0
