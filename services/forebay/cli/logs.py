"""forebay logs: the last lines of a job's log."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import click

from forebay.catalog import Service
from forebay.cli.names import service_argument
from forebay.cli.options import home_option
from forebay.runtime.process.log_files import in_kubernetes, log_path

_LINES = 50
_POLL_SECONDS = 0.2


@click.command(
    epilog="""\b
Examples:
  forebay logs user-sessions              the last 50 lines
  forebay logs user-sessions -n 500
  forebay logs user-sessions -f           and new lines, until Ctrl-C"""
)
@service_argument
@click.option("--application", default="", help="Application id of the job. Default: SERVICE.")
@click.option("--lines", "-n", type=click.IntRange(min=0), default=_LINES, help="Number of lines. Default: 50.")
@click.option("--follow", "-f", is_flag=True, help="Print new lines, too, until Ctrl-C.")
@home_option
def logs(service: Service, application: str, lines: int, follow: bool, home: Path) -> None:
    """Print the last lines of the log of SERVICE's job, which `forebay run` and `forebay demo` write.

    On Kubernetes, use `kubectl logs` with the job's pods instead.
    """
    name = application or service.name
    path = log_path(home, name)
    if not path.exists():
        pods = f"`kubectl logs deployment/RELEASE-{name}`{' -f' if follow else ''}"
        if in_kubernetes():
            raise click.ClickException(f"on Kubernetes, the log of {name} is in its pods: use {pods}")
        raise click.ClickException(
            f"there is no log {path}: start the job with `forebay run {service.name}`, name its --home, "
            f"or on Kubernetes use {pods}"
        )
    try:
        for line in read_lines(path, lines, follow):
            click.echo(line, nl=False)
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def read_lines(path: Path, last: int, follow: bool) -> Iterator[str]:
    """Yield the last lines of a file; with `follow` also new lines, including those of a file that replaces it."""
    file = path.open(encoding="utf-8", errors="replace")
    try:
        yield from deque(file, last)
        while follow:
            line = file.readline()
            if line:
                yield line
            # Read the old file to its end before opening the new one. Otherwise its last lines would be lost.
            elif _is_replaced(path, file.fileno()):
                file.close()
                file = path.open(encoding="utf-8", errors="replace")
            else:
                time.sleep(_POLL_SECONDS)
    finally:
        file.close()


def _is_replaced(path: Path, descriptor: int) -> bool:
    """Return whether the path is another file now, because of another run or a rotation."""
    return path.exists() and not os.path.samestat(path.stat(), os.fstat(descriptor))
