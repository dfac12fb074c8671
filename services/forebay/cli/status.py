"""forebay status: what runs, and where."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from forebay.cli.options import home_option, json_option
from forebay.platform import ComponentStatus, Platform, PlatformStatus

EXIT_DOWN = 3


@click.command()
@home_option
@json_option
@click.pass_context
def status(ctx: click.Context, home: Path, as_json: bool) -> None:
    """Show the platform's processes, ports, memory and endpoints.

    Exit code 3 says that a part of it doesn't run.
    """
    state = Platform(home).status()
    if as_json:
        click.echo(json.dumps({"running": state.running, **dataclasses.asdict(state)}, indent=2))
    elif not state.components:
        click.echo(f"no platform in {state.home}: `forebay up` starts one")
    else:
        Console().print(_table(state))
    if not state.running:
        ctx.exit(EXIT_DOWN)


def _table(status: PlatformStatus) -> Table:
    table = Table(title=status.home, title_justify="left", box=None, pad_edge=False)
    for column in ("", "state", "pid", "port", "memory", "endpoint"):
        table.add_column(column, overflow="fold")
    for component in status.components:
        table.add_row(component.name, *_cells(component), component.endpoint)
    return table


def _cells(component: ComponentStatus) -> tuple[str, str, str, str]:
    if component.pid is None or component.memory_bytes is None:
        return ("[red]down[/red]", "-", str(component.port), "-")
    memory = f"{component.memory_bytes / 1_000_000:.0f} MB"
    return ("[green]up[/green]", str(component.pid), str(component.port), memory)
