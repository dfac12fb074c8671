"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.runtime.launch.rpc_secret import NoSecret, read_secret

home_option = click.option(
    "--home",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".forebay"),
    envvar="FOREBAY_HOME",
    help="Directory of the platform's data, state and logs.",
)

json_option = click.option("--json", "as_json", is_flag=True, envvar="FOREBAY_JSON", help="Print JSON instead of text.")


def _readable_secret(_context: click.Context, _parameter: click.Parameter, file: Path | None) -> Path | None:
    try:
        if file is not None:
            read_secret(file)
    except NoSecret as error:
        raise click.BadParameter(str(error)) from error
    return file


spark_secret_option = click.option(
    "--spark-secret",
    type=click.Path(path_type=Path),
    callback=_readable_secret,
    help="File with a secret by which driver and executors authenticate each other and encrypt their calls.",
)
