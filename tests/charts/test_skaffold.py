"""Every file and chart in skaffold.yaml exists. These tests don't need skaffold itself."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from charts.reference import CHARTS
from charts.umbrella import BROKER, PRODUCER, SERVICE, parts

ROOT = CHARTS.parent
MODULES: dict[str, Any] = {
    module["metadata"]["name"]: module for module in yaml.safe_load_all((ROOT / "skaffold.yaml").read_text())
}


def helm(module: dict[str, Any]) -> list[dict[str, Any]]:
    return list(module.get("deploy", {}).get("helm", {}).get("releases", ()))


def releases() -> list[tuple[str, dict[str, Any]]]:
    return [(name, release) for name, module in MODULES.items() for release in helm(module)]


def test_every_part_is_released_by_its_module() -> None:
    charts = {release["name"]: (module, release["chartPath"]) for module, release in releases()}
    modules = {SERVICE: "services", PRODUCER: "producers"}
    expected = {part.name: (modules[part.chart], f"charts/{part.chart}") for part in parts()}
    assert charts == {**expected, "forebay": ("platform", f"charts/{BROKER}")}


def test_every_part_is_given_what_it_runs() -> None:
    values = {release["name"]: release.get("setValues") for _, release in releases()}
    assert values == {**{part.name: part.values for part in parts()}, "forebay": None}


def test_releases_have_different_names() -> None:
    names = [release["name"] for _, release in releases()]
    assert len(set(names)) == len(names)


def test_modules_require_what_they_need() -> None:
    needed = {
        name: [c for item in module.get("requires", ()) for c in item["configs"]] for name, module in MODULES.items()
    }
    assert needed == {
        "images": [],
        "platform": ["images"],
        "services": ["images", "platform"],
        "producers": ["images", "services"],
    }


def test_images_are_stages_of_the_dockerfile_and_built_once() -> None:
    stages = set(re.findall(r"^FROM \S+ AS (\S+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE))
    assert [name for name, module in MODULES.items() if "build" in module] == ["images"]
    for artifact in MODULES["images"]["build"]["artifacts"]:
        assert (ROOT / artifact["docker"]["dockerfile"]).is_file()
        assert artifact["docker"]["target"] in stages


@pytest.mark.parametrize("release", [release for _, release in releases()], ids=lambda release: release["name"])
def test_releases_set_values_that_their_charts_know(release: dict[str, Any]) -> None:
    images = {artifact["image"].replace("-", "_") for artifact in MODULES["images"]["build"]["artifacts"]}
    schema = json.loads((ROOT / release["chartPath"] / "values.schema.json").read_text())
    for name, template in {**release.get("setValues", {}), **release["setValueTemplates"]}.items():
        inner = schema
        for key in name.split("."):
            inner = inner["properties"][key]
        for image in re.findall(r"\.IMAGE_(?:REPO|TAG)_(\w+)", str(template)):
            assert image in images


def test_profiles_reach_every_module() -> None:
    for name, module in MODULES.items():
        own = {profile["name"] for profile in module["profiles"]}
        assert own == {"kind", "external-kafka"}, name
        for required in module.get("requires", ()):
            assert {profile["name"] for profile in required["activeProfiles"]} == own


def test_with_an_external_broker_nothing_of_the_platform_is_left() -> None:
    patches = {
        name: [patch["path"] for profile in module["profiles"] for patch in profile.get("patches", ())]
        for name, module in MODULES.items()
    }
    assert patches == {"images": ["/build/artifacts/1"], "platform": ["/deploy"], "services": [], "producers": []}
    assert MODULES["images"]["build"]["artifacts"][1]["image"] == "forebay-platform"
