"""--accept-gap is checked and reaches the job from the command line and from the environment."""

from __future__ import annotations

from typing import Any

import click
import pytest
from click.testing import CliRunner

from forebay.cli.job_options import engine_fields, job_options

ENVIRONMENT = "FOREBAY_RUN_ACCEPT_GAP"


@click.command("run")
@job_options
def run(**options: Any) -> None:
    click.echo(",".join(engine_fields(options)["accept_gaps"]))


def output(*arguments: str, environment: str = "") -> str:
    given = {ENVIRONMENT: environment} if environment else {}
    result = CliRunner().invoke(run, arguments, env=given, auto_envvar_prefix="FOREBAY_RUN")
    return result.output.strip()


@pytest.mark.parametrize(
    ("arguments", "environment", "gaps"),
    [
        ((), "", ""),
        (("--accept-gap", "clicks"), "", "clicks"),
        (("--accept-gap=clicks:3,orders", "--accept-gap", "views:0"), "", "clicks:3,orders,views:0"),
        ((), "clicks:3,orders views", "clicks:3,orders,views"),
    ],
)
def test_the_gaps_reach_the_job(arguments: tuple[str, ...], environment: str, gaps: str) -> None:
    assert output(*arguments, environment=environment) == gaps


def test_a_partition_that_is_no_number_is_refused() -> None:
    assert "'clicks:x': use a topic, or a topic and a partition, such as orders:3" in " ".join(
        output("--accept-gap", "clicks:x").split()
    )
