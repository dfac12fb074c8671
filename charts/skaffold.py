"""skaffold.yaml, generated from the table of services: modules images, platform, services and producers."""

from __future__ import annotations

from typing import Any

import yaml

from charts.umbrella import BROKER, PRODUCER, SERVICE, Part, parts

API = "skaffold/v4beta11"
BROKER_RELEASE = "forebay"
EXTERNAL = "external-kafka"
KIND = "kind"
_HEADER = """\
# Generated from the table of services by `make charts`.
#   skaffold dev                                   run everything, and rebuild it after every change
#   skaffold dev -m services                       run broker and services, without producers
#   skaffold run -p kind                           load the images into kind instead of pushing them
#   FOREBAY_BOOTSTRAP_SERVERS=... FOREBAY_SCHEMA_REGISTRY_URL=... skaffold run -p external-kafka
"""
_KAFKA = {
    "kafka.bootstrapServers": f'{{{{default "{BROKER_RELEASE}-broker:9092" .FOREBAY_BOOTSTRAP_SERVERS}}}}',
    "kafka.schemaRegistryUrl": (
        f'{{{{default "http://{BROKER_RELEASE}-registry:8080/apis/ccompat/v7" .FOREBAY_SCHEMA_REGISTRY_URL}}}}'
    ),
}


def skaffold() -> str:
    """Return skaffold.yaml."""
    services = [_release(part) for part in parts() if part.chart == SERVICE]
    producers = [_release(part) for part in parts() if part.chart == PRODUCER]
    modules = [
        _images(),
        _module("platform", [_broker()], ["images"], {"op": "remove", "path": "/deploy"}),
        _module("services", services, ["images", "platform"]),
        _module("producers", producers, ["images", "services"]),
    ]
    return _HEADER + yaml.safe_dump_all(modules, sort_keys=False, width=120)


def _images() -> dict[str, Any]:
    targets = {"forebay": "forebay", "forebay-platform": "platform"}
    artifacts = [
        {"image": image, "docker": {"dockerfile": "Dockerfile", "target": target}} for image, target in targets.items()
    ]
    loaded = {"name": KIND, "build": {"local": {"push": False, "useBuildkit": True}}}
    without = {"name": EXTERNAL, "patches": [{"op": "remove", "path": "/build/artifacts/1"}]}
    return {
        **_config("images"),
        "build": {"local": {"useBuildkit": True}, "artifacts": artifacts},
        "profiles": [loaded, without],
    }


def _module(
    name: str, releases: list[dict[str, Any]], requires: list[str], *external: dict[str, str]
) -> dict[str, Any]:
    passed_on = [{"name": profile, "activatedBy": [profile]} for profile in (KIND, EXTERNAL)]
    return {
        **_config(name),
        "requires": [{"configs": requires, "activeProfiles": passed_on}],
        "deploy": {"helm": {"releases": releases}},
        "profiles": [{"name": KIND}, {"name": EXTERNAL, **({"patches": list(external)} if external else {})}],
    }


def _config(name: str) -> dict[str, Any]:
    return {"apiVersion": API, "kind": "Config", "metadata": {"name": name}}


def _broker() -> dict[str, Any]:
    values = _image("forebay_platform")
    return {"name": BROKER_RELEASE, "chartPath": f"charts/{BROKER}", "setValueTemplates": values}


def _release(part: Part) -> dict[str, Any]:
    templates = {**_image("forebay"), **_KAFKA}
    return {
        "name": part.name,
        "chartPath": f"charts/{part.chart}",
        "setValues": part.values,
        "setValueTemplates": templates,
    }


def _image(name: str) -> dict[str, str]:
    return {"image.repository": f"{{{{.IMAGE_REPO_{name}}}}}", "image.tag": f"{{{{.IMAGE_TAG_{name}}}}}"}
