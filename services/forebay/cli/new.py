"""forebay new: create a service, ready to run."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.catalog import all_services
from forebay.scaffold.project import Kind, WrongName, write_project


@click.command(
    epilog="""\b
Examples:
  forebay new page-counts
  cd page-counts && forebay demo page-counts
  forebay new page-sums --sql"""
)
@click.argument("name")
@click.option("--sql", is_flag=True, help="Write the logic in SQL (docs/sql.md) instead of Python.")
@click.option("--ksml", is_flag=True, help="Write the logic as a KSML definition (docs/ksml.md) instead of Python.")
@click.option("--folder", type=click.Path(path_type=Path), help="Folder to write to. Default: a new folder NAME.")
def new(name: str, sql: bool, ksml: bool, folder: Path | None) -> None:
    """Create the service NAME in a new folder: contracts, logic, settings, a producer, a test, chart values.

    The new service counts each user's events, and is ready to run. docs/first-hour.md shows how to change it.
    """
    if name in all_services():
        raise click.UsageError(f"there is a service {name} already: choose another name")
    if sql and ksml:
        raise click.UsageError("use only one of --sql and --ksml")
    kind = Kind.SQL if sql else Kind.KSML if ksml else Kind.PYTHON
    try:
        written = write_project(name, folder or Path(name), kind)
    except WrongName as error:
        raise click.UsageError(str(error)) from error
    for file in written:
        click.echo(f"wrote {file}")
    click.echo(f"\nNext:\n  cd {folder or name}\n  forebay check {name}\n  python -m pytest\n  forebay demo {name}")
