"""Arguments and options of the command line that name services and topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from forebay.catalog import Service, UnknownService, find_service
from forebay.service.renaming import WrongTopics, rename, require_apart, taken_names


class ServiceType(click.ParamType[Service]):
    """The name of a service: built in, of an installed package, or of --services."""

    name = "service"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Service:
        """Return the service. Fail for an unknown name with a list of the services."""
        if isinstance(value, Service):
            return value
        try:
            return find_service(value)
        except UnknownService as error:
            self.fail(str(error), param, ctx)


def application_names(services: Iterable[Service], options: Mapping[str, Any]) -> list[str]:
    """Return the application id of each service's job: --application of a single service, or the service's name."""
    names = [service.name for service in services]
    return [options["application"] or name for name in names] if len(names) == 1 else names


def pairs(_context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    """Return the values of a repeated NAME=VALUE option by name (a click callback). Raises click.BadParameter."""
    values: dict[str, str] = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE: separate name and value with =", param=parameter)
        values[name] = value
    return values


def _topics(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
    for text in texts:
        name, separator, topic = text.partition("=")
        if not (name and separator and topic):
            raise click.BadParameter(f"{text!r} is not NAME=TOPIC, such as user_activity=prod.clicks", param=parameter)
        if [text.partition("=")[0] for text in texts].count(name) > 1:
            raise click.BadParameter(f"{name} is renamed twice: use one --topic option for each topic", param=parameter)
        if [text.partition("=")[2] for text in texts].count(topic) > 1:
            raise click.BadParameter(f"two topics would be renamed to {topic}: choose different names", param=parameter)
    return pairs(context, parameter, texts)


topics_option = click.option(
    "--topic",
    "topics",
    multiple=True,
    metavar="NAME=TOPIC",
    callback=_topics,
    help="The name of an input or output topic on this broker, such as user_activity=prod.clicks. Repeatable.",
)


def rename_topics(services: Iterable[Service], topics: Mapping[str, str]) -> tuple[Service, ...]:
    """Return the services with their topics renamed by --topic. Raises click.UsageError."""
    chosen = tuple(services)
    try:
        used_names = taken_names(chosen, topics)
        renamed_services = tuple(rename(service, used_names[service.name]) for service in chosen)
        require_apart(renamed_services)
        return renamed_services
    except WrongTopics as error:
        raise click.UsageError(f"--topic: {error}") from error


service_argument = click.argument("service", type=ServiceType(), metavar="SERVICE")
services_argument = click.argument("services", nargs=-1, type=ServiceType(), metavar="[SERVICE]...")
