"""`forebay help` and `forebay version`: what people type before they know the options."""

from __future__ import annotations

import click

import forebay


@click.command(name="help")
@click.argument("command", nargs=-1)
@click.pass_context
def show_help(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of a command: `forebay help run` is `forebay run --help`."""
    place = context.find_root()
    for name in command:
        group = place.command
        if not isinstance(group, click.Group):
            raise click.UsageError(
                f"{name!r}: `{place.command_path}` has no subcommands. `{place.command_path} --help` lists its options",
                place,
            )
        _, subcommand, _ = group.resolve_command(place, [name])
        assert subcommand is not None
        place = click.Context(subcommand, place, name)
    click.echo(place.get_help())


@click.command()
def version() -> None:
    """Print Forebay's version."""
    click.echo(f"forebay, version {forebay.__version__}")
