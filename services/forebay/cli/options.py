"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".forebay"),
    envvar="FOREBAY_HOME",
    help="Directory of the platform's data, state and logs.",
)

json_option = click.option(
    "--json", "as_json", is_flag=True, envvar="FOREBAY_JSON", help="Print JSON instead of lines for people."
)
