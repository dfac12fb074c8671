"""A click group whose commands are imported when they are used, so that --help answers at once."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import click

from forebay.utils.spelling import did_you_mean

OTHER_WORDS = {
    "stop": "down",
    "start": "up",
    "launch": "run",
    "consume": "tail",
    "list": "services",
    "ls": "services",
    "init": "new",
    "send": "produce",
    "validate": "check",
    "query": "queries",
    "scale": "rescale",
    "ui": "console",
}
"""Command names of other tools, and the equivalent command here."""


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


class CommandGroup(click.Group):
    """A group that suggests a command if the user enters an unknown one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command. The error for an unknown one suggests the nearest name, or lists all if they are few."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{_meant(args[0], names)}", ctx)
        return super().resolve_command(ctx, args)


def _meant(name: str, names: list[str]) -> str:
    other = OTHER_WORDS.get(name.lower(), "")
    if other in names:
        return f"; did you mean {other!r}?"
    few = f"; the commands are {', '.join(names)}" if len(names) <= _FEW else ""
    return did_you_mean(name, names) or few


_FEW = 8


class LazyGroup(CommandGroup):
    """A group that loads its commands from a table. The help of every option names its environment variable."""

    def __init__(self, *arguments: Any, lazy_commands: dict[str, LazyCommand], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._table = lazy_commands

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command; None if there is no command of that name."""
        entry = self._table.get(cmd_name)
        if entry is None:
            return None
        command = entry.load()
        _show_environment(command)
        return command

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
