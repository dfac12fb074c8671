"""The umbrella chart, generated from the table of services: an alias of a chart for each service and each topic."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from forebay.catalog import Service, all_services
from forebay.producing.base import Source
from forebay.producing.sources import all_sources

SERVICES = all_services()

VERSION = "0.3.0"
UMBRELLA = "forebay"
LIBRARY = "forebay-lib"
BROKER, CONSOLE, ENGINE = "forebay-broker", "forebay-console", "forebay-engine"
SERVICE, PRODUCER = "forebay-service", "forebay-producer"
ONE_SERVICE = ("user-sessions", "user-activity")
_MADE = "# Below: one part per service and per topic, generated from the table of services by `make charts`."

_MEANINGS = {
    "service": "Name of the service to run.",
    "inputs": "The service's input topics.",
    "output": "The service's output topic.",
    "topic": "The topic to write to.",
}


@dataclass(frozen=True, slots=True)
class Part:
    """The chart behind one alias in the umbrella.

    Args:
        name: the alias, which is also the key of the part's values.
        chart: the chart's name.
        summary: one line about the part.
        values: values that differ from the chart's defaults.
    """

    name: str
    chart: str
    summary: str
    values: dict[str, str | list[str]]


def parts() -> list[Part]:
    """Return the parts of all services, then of all producers."""
    return [*map(_service, SERVICES.values()), *map(_producer, all_sources().values())]


def umbrella_chart() -> str:
    """Return the umbrella's Chart.yaml."""
    aliases = [
        ("broker", BROKER),
        ("console", CONSOLE),
        ("engine", ENGINE),
        *((part.name, part.chart) for part in parts()),
    ]
    meta = {
        "apiVersion": "v2",
        "name": UMBRELLA,
        "description": "All of Forebay in one release: the development broker, the services and their producers.",
        "type": "application",
        "version": VERSION,
        "appVersion": "dev",
        "dependencies": [
            _dependency(LIBRARY),
            *({**_dependency(chart), "alias": name, "condition": f"{name}.enabled"} for name, chart in aliases),
        ],
    }
    return yaml.safe_dump(meta, sort_keys=False, width=120)


def umbrella_values(file: Path) -> str:
    """Return the umbrella's values.yaml: the part of `file` that is written by hand, and then the generated parts."""
    by_hand = file.read_text(encoding="utf-8").partition(_MADE)[0]
    return f"{by_hand.rstrip()}\n\n{_MADE}\n\n" + "".join(_values(part) for part in parts())


def one_service_values() -> str:
    """Return one-service.yaml, which disables all parts except one service and its producer."""
    off = "".join(f"{part.name}: {{enabled: false}}\n" for part in parts() if part.name not in ONE_SERVICE)
    usage = f"helm install demo charts/{UMBRELLA} -f charts/{UMBRELLA}/one-service.yaml"
    return f"# One service with its producer, for small machines: {usage}\n{off}"


def _dependency(chart: str) -> dict[str, str]:
    return {"name": chart, "version": VERSION, "repository": f"file://../{chart}"}


def _values(part: Part) -> str:
    return "".join(f"{line}\n" for line in _lines(part))


def _lines(part: Part) -> Iterator[str]:
    yield f"{part.name}:"
    yield f"  # {part.summary}. All other values are those of {part.chart}."
    yield "  enabled: true"
    for name, value in part.values.items():
        yield f"  # {_MEANINGS[name]}"
        yield f"  {name}: {value if isinstance(value, str) else '[' + ', '.join(value) + ']'}"


def _service(service: Service) -> Part:
    values: dict[str, str | list[str]] = {
        "service": service.name,
        "inputs": [topic.name for topic in service.inputs],
        "output": service.output.name,
    }
    return Part(service.name, SERVICE, f"{service.name}: {service.summary}", values)


def _producer(source: Source) -> Part:
    name = source.topic.replace("_", "-")
    return Part(name, PRODUCER, f"Synthetic events on the topic {source.topic}", {"topic": source.topic})
