"""The charts can be packaged: they render deterministically without warnings, and an OCI registry serves them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from cluster.kube import CHARTS, chart, run
from cluster.oci_registry import OciRegistry

from charts.umbrella import BROKER, CONSOLE, ENGINE, PRODUCER, SERVICE, UMBRELLA, VERSION
from forebay.catalog import all_services

SERVICES = all_services()

VALUES = {SERVICE: "service=user-sessions", PRODUCER: "topic=user_activity", BROKER: "scratch.sizeLimit=1Gi"}


@pytest.fixture(scope="module")
def registry() -> Iterator[OciRegistry]:
    with closing(OciRegistry()) as registry:
        yield registry


def render(name: str, *values: str) -> str:
    """Return a rendered chart. Fail if helm prints a warning."""
    chosen = [part for value in values for part in ("--set", value)]
    command = ["helm", "template", "demo", name, *chosen]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("values", [(), ("user-sessions.queries.enabled=true", "global.image.tag=v2")])
def test_rendering_is_deterministic_and_without_warnings(values: tuple[str, ...]) -> None:
    assert render(chart(UMBRELLA), *values) == render(chart(UMBRELLA), *values)


def test_no_rendering_holds_a_secret() -> None:
    objects = list(yaml.safe_load_all(render(chart(UMBRELLA), "user-sessions.queries.enabled=true")))
    secrets = [item for item in objects if item and item["kind"] == "Secret"]
    assert len(secrets) == len(SERVICES) + 1, "one for each job, one for the queries"
    assert [secret["metadata"]["name"] for secret in secrets if secret.get("data") or secret.get("stringData")] == []


@pytest.mark.parametrize("name", [UMBRELLA, SERVICE, PRODUCER, BROKER, CONSOLE, ENGINE])
def test_chart_pulled_from_a_registry_renders_like_the_checkout(
    name: str, registry: OciRegistry, tmp_path: Path
) -> None:
    run("helm", "package", "--dependency-update", "--destination", str(tmp_path), str(CHARTS / name))
    (tmp_path / "got").mkdir()
    place = f"oci://{registry.address}/charts"
    run("helm", "push", "--plain-http", str(tmp_path / f"{name}-{VERSION}.tgz"), place)
    run("helm", "pull", "--plain-http", "--version", VERSION, "--destination", str(tmp_path / "got"), f"{place}/{name}")
    values = [VALUES[name]] if name in VALUES else []
    assert render(str(tmp_path / "got" / f"{name}-{VERSION}.tgz"), *values) == render(chart(name), *values)
