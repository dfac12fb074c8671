"""forebay profile: where the worker of a running job spends its time."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import click
import psutil

from forebay.catalog import Service
from forebay.cli.names import service_argument
from forebay.cli.options import home_option
from forebay.runtime.process.log_files import log_of_process, log_path

_FORMATS = {"flamegraph": "svg", "speedscope": "speedscope.json"}
_COMPARED_SECONDS = 1.0


@click.command(
    epilog="""\b
Examples:
  forebay profile user-sessions                       a flame graph of 30 seconds
  forebay profile user-sessions --seconds 5 -o a.svg
  forebay profile user-sessions --format speedscope   for https://www.speedscope.app"""
)
@service_argument
@click.option("--application", default="", help="Application id of the job. Default: SERVICE.")
@click.option("--seconds", type=click.IntRange(min=1), default=30, help="How long to sample. Default: 30.")
@click.option("--format", "kind", type=click.Choice(list(_FORMATS)), default="flamegraph", help="Format of the file.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path, dir_okay=False), help="File to write. Default: SERVICE.svg."
)
@home_option
def profile(service: Service, application: str, seconds: int, kind: str, output: Path | None, home: Path) -> None:
    """Write a flame graph of the busiest worker of SERVICE's job, which must run on this machine.

    The command needs py-spy: pip install 'forebay[profile]'. The job continues to run.
    """
    name = application or service.name
    profiler = shutil.which("py-spy", path=str(Path(sys.executable).parent)) or shutil.which("py-spy")
    if profiler is None:
        raise click.ClickException("py-spy is not installed: pip install 'forebay[profile]'")
    processes = list(processes_of(log_path(home, name)))
    if not processes:
        raise click.ClickException(
            f"no job of {name} runs with --home {home}: start it with `forebay run {service.name}`, or name its --home"
        )
    worker = busiest(processes, _COMPARED_SECONDS)
    file = output or Path(f"{name}.{_FORMATS[kind]}")
    order = [profiler, "record", "--pid", str(worker), "--duration", str(seconds), "--format", kind]
    result = subprocess.run([*order, "--output", str(file)], capture_output=True, text=True, check=False)
    if result.returncode:
        raise click.ClickException(
            f"py-spy can't read worker {worker}: {result.stderr.strip()}; on Linux run the command as root, or "
            "allow it with `sysctl kernel.yama.ptrace_scope=0`; a container needs the capability SYS_PTRACE"
        )
    click.echo(f"{file}: {seconds} s of worker {worker}")


def processes_of(log: Path) -> Iterator[psutil.Process]:
    """Yield the Python processes that a job's driver started."""
    log = log.resolve()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            is_python = "python" in process.name()
            if is_python and log_of_process(process.environ(), Path(process.cwd())) == log:
                yield process


def busiest(processes: list[psutil.Process], seconds: float) -> int:
    """Return the id of the process that uses the most CPU time during the next `seconds`."""
    before = {process.pid: _cpu_seconds(process) for process in processes}
    time.sleep(seconds)
    return max(processes, key=lambda process: _cpu_seconds(process) - before[process.pid]).pid


def _cpu_seconds(process: psutil.Process) -> float:
    with suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0
