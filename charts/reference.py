"""Generate the umbrella's parts, and each chart's schema and README: python -m charts.reference [--check]."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from charts.skaffold import skaffold
from charts.umbrella import LIBRARY, UMBRELLA, one_service_values, umbrella_chart, umbrella_values

CHARTS = Path(__file__).parent
_SCHEMA = "# schema: "


@dataclass(frozen=True, slots=True)
class Value:
    """One documented value.

    Args:
        path: keys of the value, outermost first.
        default: the value in values.yaml.
        text: the description.
        schema: JSON schema, in addition to the keywords that follow from the default.
    """

    path: tuple[str, ...]
    default: Any
    text: str
    schema: dict[str, Any]

    @property
    def name(self) -> str:
        """The value's name as in --set."""
        return ".".join(self.path)


class Undescribed(ValueError):
    """A value without a description. The message contains its file and name."""


def values_of(file: Path) -> Iterator[Value]:
    """Yield all described values of a values.yaml, in the order of the file. The comment above a value describes it.

    Raises:
        Undescribed: neither the value nor a value that contains it has a description.
    """
    tree = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    described = list(_values_of(file, tree))
    covered = {value.path for value in described}
    for path in _leaves(tree):
        if not any(path[:depth] in covered for depth in range(1, len(path) + 1)):
            raise Undescribed(f"{file}: {'.'.join(path)} has no description: write it as a comment in the line above")
    yield from described


def _values_of(file: Path, tree: Any) -> Iterator[Value]:
    path: list[tuple[int, str]] = []
    text: list[str] = []
    schema: dict[str, Any] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        stripped = line.strip()
        if stripped.startswith(_SCHEMA):
            schema = json.loads(stripped.removeprefix(_SCHEMA))
        elif stripped.startswith("#"):
            text.append(stripped.lstrip("# "))
        elif not stripped:
            text, schema = [], {}
        elif ":" in stripped and not stripped.startswith("- "):
            indent = len(line) - len(line.lstrip())
            path = [(depth, key) for depth, key in path if depth < indent]
            path.append((indent, stripped.partition(":")[0].strip('"')))
            keys = tuple(key for _, key in path)
            if text and indent == 2 * (len(keys) - 1):
                yield Value(keys, _at(tree, keys), " ".join(text), schema)
            text, schema = [], {}


def _at(tree: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        tree = tree[key]
    return tree


def _leaves(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if isinstance(tree, dict) and tree:
        for key, value in tree.items():
            yield from _leaves(value, (*path, key))
    elif path:
        yield path


def schema_of(chart: Path) -> dict[str, Any]:
    """Return a chart's schema, which refuses unknown keys except in free-form values and subcharts."""
    meta = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    root = _object()
    for value in values_of(chart / "values.yaml"):
        place = root
        for key in value.path[:-1]:
            place = place["properties"].setdefault(key, _object())
        place["properties"][value.path[-1]] = {"description": value.text, **_type(value.default), **value.schema}
    root["properties"]["global"] = root["properties"].get("global", {"type": "object"})
    if chart.name != UMBRELLA:
        root["properties"]["enabled"] = {"description": "Whether the chart forebay installs it.", "type": "boolean"}
    # Helm adds a key for the values of its dependencies to every chart of a release.
    root["properties"][LIBRARY] = {"description": "Unused: the library has no values.", "type": "object"}
    for name in _parts(meta):
        root["properties"][name].pop("additionalProperties", None)
    return {"$schema": "http://json-schema.org/draft-07/schema#", "title": f"Values of {chart.name}", **root}


def _parts(meta: dict[str, Any]) -> dict[str, str]:
    """Return the charts of a chart's dependencies, by alias."""
    return {column["alias"]: column["name"] for column in meta.get("dependencies", ()) if "alias" in column}


def _object() -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": {}}


def _type(default: Any) -> dict[str, Any]:
    match default:
        case bool():
            return {"type": "boolean"}
        case int():
            return {"type": "integer", "minimum": 0}
        case list():
            return {"type": "array"}
        case dict():
            return {"type": "object"}
        case _:
            return {"type": "string"}


def readme_of(chart: Path) -> str:
    """Return a chart's README: its description and a table of its values."""
    meta = yaml.safe_load((chart / "Chart.yaml").read_text(encoding="utf-8"))
    rows = "\n".join(
        f"| `{value.name}` | `{json.dumps(value.default)}` | {value.text.replace('|', chr(92) + '|')} |"
        for value in values_of(chart / "values.yaml")
    )
    charts = dict.fromkeys(_parts(meta).values())
    more = "\nOther values of the parts: " + ", ".join(f"[{name}](../{name}/README.md)" for name in charts) + ".\n"
    return (
        f"# {chart.name}\n\n{meta['description'].rstrip('.')}.\n\n"
        "Generated by `make charts` from `Chart.yaml` and the comments in `values.yaml`; see docs/kubernetes.md.\n\n"
        f"| value | default | meaning |\n|---|---|---|\n{rows}\n{more if charts else ''}"
    )


def generated_files() -> Iterator[tuple[Path, str]]:
    """Yield every generated file with its content. Files from which other files are generated come first."""
    umbrella = CHARTS / UMBRELLA
    yield umbrella / "Chart.yaml", umbrella_chart()
    yield umbrella / "values.yaml", umbrella_values(umbrella / "values.yaml")
    yield umbrella / "one-service.yaml", one_service_values()
    yield CHARTS.parent / "skaffold.yaml", skaffold()
    for meta in sorted(CHARTS.glob("*/Chart.yaml")):
        chart = meta.parent
        if chart.name != LIBRARY:
            yield chart / "values.schema.json", json.dumps(schema_of(chart), indent=2) + "\n"
            yield chart / "README.md", readme_of(chart)


def main(arguments: list[str]) -> int:
    """Write the files, or with --check report which are out of date."""
    stale = False
    for file, content in generated_files():
        if file.is_file() and file.read_text(encoding="utf-8") == content:
            continue
        stale = True
        if "--check" not in arguments:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        print(f"{file.relative_to(CHARTS.parent)}: {'out of date' if '--check' in arguments else 'written'}")
    return int(stale and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
