"""forebay status: the platform's processes, and the jobs on a broker."""

from __future__ import annotations

import dataclasses
import json
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from forebay.cli.connection import connect, connection_options
from forebay.cli.job_status import JobStatus, job_table, read_jobs
from forebay.cli.options import json_option
from forebay.platform import ComponentStatus, Platform, PlatformStatus

EXIT_DOWN = 3


@click.command(
    epilog="""\b
Examples:
  forebay status                          the platform, and every job that ever ran on its broker
  forebay status user-sessions            one job, with its starts, restarts and ends
  forebay status --bootstrap-servers kafka:9092 --schema-registry-url http://registry:8081"""
)
@click.argument("applications", nargs=-1, metavar="[JOB]...")
@connection_options
@json_option
@click.pass_context
def status(ctx: click.Context, /, applications: tuple[str, ...], home: Path, as_json: bool, **connection: Any) -> None:
    """Show the platform's processes, ports, memory and endpoints, and the jobs: state, lag, failed records.

    JOB is an application id, which is the service's name by default. The exit code is 3 if a part of the platform is
    down.
    """
    is_own = not connection["bootstrap_servers"]
    state = Platform(home).status()
    if not as_json:  # printed first, since the broker may not answer
        _print_platform(state, is_own)
    jobs: list[JobStatus] = []
    if state.running or not is_own:
        jobs = read_jobs(connect(home=home, **connection), home, applications, int(time.time() * 1000))
    if as_json:
        content = {"running": state.running, **dataclasses.asdict(state), "jobs": [job.to_json() for job in jobs]}
        click.echo(json.dumps(content, indent=2))
    elif jobs:
        Console().print(job_table(jobs, with_events=bool(applications)))
    if is_own and not state.running:
        ctx.exit(EXIT_DOWN)


def _print_platform(state: PlatformStatus, is_own: bool) -> None:
    if state.components:
        Console().print(_table(state))
    elif is_own:
        click.echo(f"no platform in {state.home}: `forebay up` starts one")


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
