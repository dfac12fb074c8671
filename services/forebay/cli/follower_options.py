"""Options that the commands that follow a job's changelogs share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from forebay.catalog import Service
from forebay.cli.names import pairs
from forebay.runtime.driver.logic_settings import WrongSettings, parse_logic
from forebay.runtime.process.logs import FORMATS

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("--application", help="Application id of the job. Default: SERVICE."),
    click.option(
        "--set", "logic", multiple=True, metavar="NAME=VALUE", callback=pairs, help="A setting of the job's logic."
    ),
    click.option("--log-format", type=click.Choice(list(FORMATS)), default="text", help="Format of log lines."),
)


def following_options(command: Command) -> Command:
    """Add --application, --set (as `logic`) and --log-format."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def job_settings(service: Service, logic: Mapping[str, str]) -> Any:
    """Return the settings of a job's logic. Raises click.UsageError for a wrong one."""
    try:
        return parse_logic(service, logic)
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error
