"""forebay ksml: commands for KSML definition files."""

from __future__ import annotations

from pathlib import Path

import click

from forebay.builder.description import picture_of
from forebay.builder.render import as_mermaid, as_text
from forebay.cli.ksml_files import files_argument, files_options
from forebay.cli.lazy import LazyCommand, LazyGroup
from forebay.ksml.definition import read_definition
from forebay.ksml.differences import differences
from forebay.ksml.errors import KsmlError
from forebay.ksml.mounting import files_of, mount, read_all, service_name
from forebay.ksml.producers import producers_of
from forebay.ksml.registered import registry_if_any
from forebay.ksml.suites import run_suite

COMMANDS = {
    "check": LazyCommand("forebay.cli.ksml:check", "Check definitions, and report differences from KSML."),
    "run": LazyCommand("forebay.cli.ksml_run:run", "Run definitions as a job."),
    "test": LazyCommand("forebay.cli.ksml:test", "Run KSML's test definitions, without a broker."),
    "produce": LazyCommand("forebay.cli.ksml_produce:produce", "Run the producers of definitions."),
    "topology": LazyCommand("forebay.cli.ksml:topology", "Print sub-topologies, steps, stores and topics."),
}


@click.group(cls=LazyGroup, lazy_commands=COMMANDS)
def ksml() -> None:
    """Run KSML definition files: streams, tables, stores, functions and pipelines in YAML.

    FILE is a definition, or a folder of them. Functions are Python, and are not sandboxed: run only what you trust.
    """


@click.command(
    epilog="""\b
Examples:
  forebay ksml check sessions.yaml
  forebay ksml check definitions/ --schemas schemas"""
)
@files_options
def check(files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...]) -> int:
    """Check definitions. Report errors, and behaviour that differs from KSML, with file and line."""
    failed = False
    for file in files_of(files):
        try:
            definition = read_definition(file)
            registry = registry_if_any()
            producers_of(definition, read_all([file], schemas, modules, registry).formats)
            if definition.section("pipelines"):
                mount(service_name([file]), [file], schemas, modules, registry)
        except KsmlError as error:
            failed = True
            for problem in error.problems:
                click.echo(str(problem))
            continue
        click.echo(f"{file}: can be run")
        for difference in differences(definition):
            click.echo(f"  {difference.line}: {difference.message}")
    return int(failed)


@click.command(
    epilog="""\b
Examples:
  forebay ksml topology sessions.yaml
  forebay ksml topology definitions/ --format mermaid"""
)
@files_options
@click.option("--format", "form", type=click.Choice(["text", "mermaid"]), default="text", help="Output format.")
@click.option("--application", default="", help="Application id, the prefix of the changelogs' names.")
def topology(
    files: tuple[Path, ...], schemas: tuple[Path, ...], modules: tuple[Path, ...], form: str, application: str
) -> None:
    """Print the sub-topologies, steps, stores and topics of definitions as one job."""
    paths = files_of(files)
    mounted_files = mount(application or service_name(paths), paths, schemas, modules, registry_if_any())
    picture = picture_of(mounted_files.service, mounted_files.job, application)
    click.echo(as_mermaid(picture) if form == "mermaid" else as_text(picture))


@click.command(
    epilog="""\b
Examples:
  forebay ksml test tests/sessions-test.yaml
  forebay ksml test tests/"""
)
@files_argument
def test(files: tuple[Path, ...]) -> int:
    """Run KSML's test definitions, without a broker. The exit code is 1 if a test fails."""
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
