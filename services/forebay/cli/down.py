"""forebay down: stop the embedded platform."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.cli.options import home_option
from forebay.platform import Platform


@click.command(
    epilog="""\b
Examples:
  forebay down
  forebay down --delete-data --yes"""
)
@home_option
@click.option("--delete-data", is_flag=True, help="Delete the directory too: topics, schemas, checkpoints, logs.")
@click.option("--yes", is_flag=True, help="Don't ask before deleting.")
def down(home: Path, delete_data: bool, yes: bool) -> None:
    """Stop the embedded platform; `forebay up` resumes where it stopped."""
    platform = Platform(home)
    if not delete_data:
        was_running = any(component.pid is not None for component in platform.status().components)
        platform.down()
        click.echo("stopped, data kept" if was_running else "nothing was running")
        return
    question = f"Delete {platform.home} with all topics, schemas, checkpoints and logs in it?"
    if not yes and not click.confirm(question):
        raise click.ClickException("nothing was stopped or deleted.")
    platform.delete()
    click.echo(f"stopped, {platform.home} deleted")
