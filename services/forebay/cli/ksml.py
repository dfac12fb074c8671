"""forebay ksml: KSML definition files, checked, run, tested, produced, shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from forebay.builder.picture import picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.catalog import Service
from forebay.ksml import mounting
from forebay.ksml.definition import read_definition
from forebay.ksml.differences import differences
from forebay.ksml.errors import KsmlError
from forebay.ksml.mounting import Mounted, environment, files_of, mount, mounted, service_name
from forebay.ksml.suites import run_suite
from forebay.plugins import VARIABLE

Command = TypeVar("Command", bound=Callable[..., Any])

_FILES = click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
_FOLDERS = (
    click.option(
        "--schemas", multiple=True, type=click.Path(path_type=Path), help="Folder of schemas, beside the files' own."
    ),
    click.option(
        "--modules",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Folder of Python modules that functions import, beside the files' own.",
    ),
)


def _files(command: Command) -> Command:
    for option in reversed((_FILES, *_FOLDERS)):
        command = option(command)
    return command


@click.group()
def ksml() -> None:
    """Run KSML definition files: streams, tables, stores, functions and pipelines in YAML.

    FILE is a definition, or a folder of them. Functions are Python, and are not sandboxed: run only what you trust.
    """


@ksml.command(
    epilog="""\b
Examples:
  forebay ksml check sessions.yaml
  forebay ksml check definitions/ --schemas schemas"""
)
@_files
def check(files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...]) -> int:
    """Say what is wrong with definitions, or what differs from KSML here, each with file and line."""
    failed = False
    for file in files_of(files):
        try:
            definition = read_definition(file)
            if definition.section("pipelines"):
                mount(service_name([file]), [file], schemas, modules)
        except KsmlError as error:
            failed = True
            for problem in error.problems:
                click.echo(str(problem))
            continue
        click.echo(f"{file}: can be run")
        for each in differences(definition):
            click.echo(f"  {each.line}: {each.message}")
    return int(failed)


@ksml.command(
    epilog="""\b
Examples:
  forebay ksml topology sessions.yaml
  forebay ksml topology definitions/ --format mermaid"""
)
@_files
@click.option("--format", "form", type=click.Choice(["text", "mermaid"]), default="text", help="How it is shown.")
@click.option("--application", default="", help="Application id, which begins the changelogs' names.")
def topology(
    files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...], form: str, application: str
) -> None:
    """Print the stages, steps, stores and topics of definitions as one job."""
    found = _mount(files, schemas, modules, application)
    picture = picture_of(found.service, found.job, application)
    click.echo(as_mermaid(picture) if form == "mermaid" else as_text(picture))


@ksml.command(
    epilog="""\b
Examples:
  forebay ksml test tests/sessions-test.yaml
  forebay ksml test tests/"""
)
@_FILES
def test(files: tuple[Path, ...]) -> int:
    """Run KSML's test definitions, without a broker; 1 if one fails."""
    outcomes: list[str] = []
    for file in files_of(files):
        for result in run_suite(file):
            outcomes.append(result.outcome)
            click.echo(f"{result.outcome:5}  {result.suite} > {result.test}")
            if result.reason:
                click.echo(f"       {result.reason}")
    counts = [outcomes.count(outcome) for outcome in ("PASS", "FAIL", "ERROR")]
    click.echo(f"{counts[0]} passed, {counts[1]} failed, {counts[2]} errors")
    return int(counts[1] + counts[2] > 0)


def _mount(
    files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...], application: str = ""
) -> Mounted:
    """Have this process and those it starts find the definitions in the table of services. Raises KsmlError."""
    paths = files_of(files)
    os.environ.update(environment(application or service_name(paths), paths, schemas, modules))
    found = mounted()
    named = [each for each in os.environ.get(VARIABLE, "").split(",") if each and each != mounting.MODULE]
    os.environ[VARIABLE] = ",".join((*named, mounting.MODULE))
    return found


def mounted_service(
    files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...], application: str = ""
) -> Service:
    """Return the service of definition files, for every process of its job. Raises KsmlError."""
    return _mount(files, schemas, modules, application).service
