"""The schemas of the charts reject values that the charts would ignore."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from charts.reference import CHARTS

SCHEMAS = sorted(CHARTS.glob("*/values.schema.json"), key=lambda file: file.parent.name)


def objects(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if "properties" in schema:
        yield path, schema
        for name, inner in schema["properties"].items():
            yield from objects(inner, f"{path}.{name}")


@pytest.mark.parametrize("file", SCHEMAS, ids=lambda file: file.parent.name)
def test_unknown_keys_are_refused_and_known_ones_described(file: Path) -> None:
    schema = json.loads(file.read_text())
    meta = yaml.safe_load((file.parent / "Chart.yaml").read_text())
    subcharts = {column.get("alias", column["name"]) for column in meta["dependencies"]}
    for path, inner in objects(schema):
        if path.strip(".") in subcharts:
            continue
        assert inner.get("additionalProperties") is False, f"{path or 'the root'} takes unknown keys"
        for name, value in inner["properties"].items():
            is_leaf = "properties" not in value
            if is_leaf and name not in {"global", *subcharts}:
                assert value.get("description"), f"{path}.{name} is not described"
                assert value.get("type"), f"{path}.{name} takes anything"


def test_every_chart_has_a_schema() -> None:
    charts = {meta.parent.name for meta in CHARTS.glob("*/Chart.yaml")}
    assert {file.parent.name for file in SCHEMAS} == charts - {"forebay-lib"}
