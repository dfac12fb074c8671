"""The thin charts, made from the table of services: one per service and one per topic that something produces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay.catalog import SERVICES, Service
from producers.catalog import SOURCES, Source

VERSION = "0.1.0"
UMBRELLA = "forebay"
PLATFORM = "broker"
_NO_VALUES = "# The defaults are those of forebay-lib; README.md lists them.\n{}\n"


@dataclass(frozen=True, slots=True)
class ThinChart:
    """A chart that only names what it runs.

    Args:
        name: its folder.
        description: a line.
        annotations: what forebay-lib's templates read.
        part: of the library's values and templates: service or producer.
    """

    name: str
    description: str
    annotations: dict[str, str]
    part: str

    def files(self) -> Iterator[tuple[str, str]]:
        """Give its files' names and contents."""
        annotations = "".join(f"  forebay/{name}: {value}\n" for name, value in self.annotations.items())
        yield (
            "Chart.yaml",
            f"apiVersion: v2\nname: {self.name}\ndescription: {json.dumps(self.description)}\ntype: application\n"
            f"version: {VERSION}\nappVersion: dev\nannotations:\n{annotations}dependencies:\n"
            f"  - name: forebay-lib\n    version: {VERSION}\n    repository: file://../forebay-lib\n"
            f"    import-values: [common, {self.part}]\n",
        )
        yield f"templates/{self.part}.yaml", f'{{{{- include "forebay.{self.part}" . -}}}}\n'
        yield "templates/NOTES.txt", f'{{{{- include "forebay.notes.{self.part}" . }}}}\n'


def thin_charts() -> list[ThinChart]:
    """Give the charts of all services, then of all producers."""
    return [*map(_service, SERVICES.values()), *map(_producer, SOURCES.values())]


def write_values(folder: Path) -> None:
    """Give a new chart its values.yaml (the owner's from then on), its way to the library and the umbrella's to it."""
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    _link(folder / "charts" / "forebay-lib")
    _link(folder.parent / UMBRELLA / "charts" / folder.name)
    if not (folder / "values.yaml").exists():
        (folder / "values.yaml").write_text(_NO_VALUES, encoding="utf-8")


def _link(place: Path) -> None:
    if not place.is_symlink():
        place.symlink_to(f"../../{place.name}")


def umbrella_chart() -> str:
    """Give the umbrella's Chart.yaml."""
    names = [PLATFORM, *(chart.name for chart in thin_charts())]
    dependencies = "".join(
        f"  - name: {name}\n    version: {VERSION}\n    repository: file://../{name}\n    condition: {name}.enabled\n"
        for name in names
    )
    return (
        f"apiVersion: v2\nname: {UMBRELLA}\n"
        "description: All of Forebay in one release, the development broker, services and their producers.\n"
        f"type: application\nversion: {VERSION}\nappVersion: dev\ndependencies:\n{dependencies}"
    )


def _service(service: Service) -> ThinChart:
    annotations = {
        "service": service.name,
        "inputs": ",".join(topic.name for topic in service.inputs),
        "output": service.outputs[0].name,
    }
    return ThinChart(service.name, service.summary, annotations, "service")


def _producer(source: Source) -> ThinChart:
    annotations = {"service": source.service, "topic": source.topic}
    name = source.topic.replace("_", "-")
    return ThinChart(name, f"Synthetic events on the topic {source.topic}", annotations, "producer")
