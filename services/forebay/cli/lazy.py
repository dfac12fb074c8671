"""A click group whose commands are imported when they are used, so that --help answers at once."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import click


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """Where a command is defined ("module:attribute") and its line in the group's help."""

    target: str
    help: str

    def load(self) -> click.Command:
        """Import the command."""
        module, _, attribute = self.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command


class LazyGroup(click.Group):
    """Loads its commands from a table; every option's help names its environment variable."""

    def __init__(self, *arguments: Any, lazy_commands: dict[str, LazyCommand], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._table = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command, or give None if there is none of that name."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command = entry.load()
        _show_environment(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is refused with the valid ones named."""
        if args and args[0] not in self._table and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}; the commands are {', '.join(self._table)}.", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands' lines from the table, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self._table.items()])


def _show_environment(command: click.Command) -> None:
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            parameter.show_envvar = True
            parameter.show_default = True if parameter.show_default is None else parameter.show_default
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            _show_environment(subcommand)
