"""forebay services: list services, and show their topics, stores and settings."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import click

from forebay.catalog import NO_SERVICES, Service, Topic, all_services
from forebay.cli.names import services_argument
from forebay.cli.options import json_option
from forebay.job import load_job
from forebay.service.mistakes import Mistake
from forebay.utils.docstrings import described_arguments


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """A setting of a service's logic, for --set."""

    name: str
    kind: str
    default: Any
    meaning: str


@click.command(
    epilog="""\b
Examples:
  forebay services
  forebay services user-sessions
  forebay services --json | jq '.[].inputs[].name'"""
)
@services_argument
@json_option
def services(services: tuple[Service, ...], as_json: bool) -> None:
    """List all services, or show the topics, stores and settings of each SERVICE.

    The list includes services of installed packages, and those of `forebay --services`.
    """
    if as_json:
        chosen = services or tuple(all_services().values())
        click.echo(json.dumps([_facts(service) for service in chosen], indent=2))
    elif services:
        click.echo("\n\n".join("\n".join(_lines(service)) for service in services))
    else:
        click.echo("\n".join(_brief(all_services())) or f"there are no services: {NO_SERVICES}")


def settings_of(service: Service) -> tuple[Setting, ...]:
    """Return the settings of a service's logic, with their defaults."""
    kind = load_job(service.job).settings
    meanings = described_arguments(kind)
    defaults = kind()
    return tuple(
        Setting(field.name, _kind(value), _plain(value), meanings.get(field.name, ""))
        for field in dataclasses.fields(kind)
        for value in [getattr(defaults, field.name)]
    )


def _kind(value: object) -> str:
    return "|".join(str(member.value) for member in type(value)) if isinstance(value, Enum) else type(value).__name__


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def _brief(table: Mapping[str, Service]) -> list[str]:
    width = max(map(len, table), default=0)
    return [
        line
        for name, service in table.items()
        for line in (f"{name:{width}}  {_names(service.inputs)} -> {_names(service.outputs)}", f"  {service.summary}")
    ]


def _names(topics: Iterable[Topic]) -> str:
    return ", ".join(topic.name for topic in topics)


def _lines(service: Service) -> list[str]:
    sections: tuple[tuple[str, list[str]], ...] = (
        ("reads", [_topic(topic) for topic in service.inputs]),
        ("writes", [_topic(topic) for topic in (*service.outputs, service.errors, service.late)]),
        ("stores", [f"{name} ({contract})" for name, contract in service.stores.items()]),
        ("changelogs", [topic.name for topic in service.changelogs(service.name, 1)]),
        ("settings (--set NAME=VALUE)", [_setting(setting) for setting in settings_of(service)]),
    )
    lines = [f"{service.name}: {service.summary}"]
    for title, entries in sections:
        lines += [f"  {title}", *(f"    {entry}" for entry in entries or ["none"])]
    return lines


def _topic(topic: Topic) -> str:
    partitions = "1 partition" if topic.partitions == 1 else f"{topic.partitions} partitions"
    return f"{topic.name}: {topic.record or 'bytes as they came'}, {partitions}"


def _setting(setting: Setting) -> str:
    return f"{setting.name}={setting.default} ({setting.kind}): {setting.meaning}".rstrip(": ")


def _facts(service: Service) -> dict[str, Any]:
    sides = {"inputs": service.inputs, "outputs": (*service.outputs, service.errors, service.late)}
    return {
        "name": service.name,
        "summary": service.summary,
        "job": service.job,
        "stages": _sub_topologies(service),
        **{
            side: [
                {"name": topic.name, "record": topic.record or None, "partitions": topic.partitions} for topic in own
            ]
            for side, own in sides.items()
        },
        "stores": dict(service.stores),
        "changelogs": [topic.name for topic in service.changelogs(service.name, 1)],
        "settings": [dataclasses.asdict(setting) for setting in settings_of(service)],
    }


def _sub_topologies(service: Service) -> int | None:
    """Return the number of sub-topologies; None: the job can't be loaded, which `forebay check` explains."""
    try:
        return service.stages
    except Mistake:
        return None
