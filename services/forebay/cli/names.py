"""Services and topics of the table as values of the command line."""

from __future__ import annotations

from typing import Any

import click

from forebay.catalog import Service, UnknownService, find_service


class ServiceType(click.ParamType[Service]):
    """A service of the table, or one that another package brings."""

    name = "service"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Service:
        """Return the service; an unknown one is refused with those there are."""
        if isinstance(value, Service):
            return value
        try:
            return find_service(value)
        except UnknownService as error:
            self.fail(str(error), param, ctx)


service_argument = click.argument("service", type=ServiceType(), metavar="SERVICE")
services_argument = click.argument("services", nargs=-1, type=ServiceType(), metavar="[SERVICE]...")
