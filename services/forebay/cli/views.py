"""forebay views: check or write the contracts of a service of SQL views."""

from __future__ import annotations

import json
from pathlib import Path

import click

from forebay.catalog import Service
from forebay.cli.names import ServiceType
from forebay.job import load_job, plans_of
from forebay.serde.contracts import contracts_folder, load_contract
from forebay.service.agreement import disagreements
from forebay.views.contracts import contracts_of


@click.command(
    epilog="""\b
Examples:
  forebay views sensor-views
  forebay views sensor-views --write
  forebay views sensor-views --plan"""
)
@click.argument("service", type=ServiceType())
@click.option("--write", is_flag=True, help="Write the contracts that are missing or out of date.")
@click.option("--plan", is_flag=True, help="Print what each view computes, as EXPLAIN of `forebay sql` does.")
def views(service: Service, write: bool, plan: bool) -> int:
    """Check the contracts of a SERVICE of SQL views: records of rows, stores and repartition topics.

    They are derived from the views' files, so they are never written by hand. The exit code is 1 if a contract is out
    of date, or if the service's declaration does not match its views.
    """
    job = load_job(service.job)
    plans = plans_of(job)
    if not plans:
        raise click.UsageError(
            f"{service.name} is not a service of SQL views: its job was not created with views_job()"
        )
    for plan_of_view in plans if plan else ():
        click.echo("\n".join(plan_of_view.lines()))
    folder, stale = Path(str(contracts_folder(service.name))), 0
    for name, text in contracts_of(job, _namespace(service)):
        file = folder / f"{name}.avsc"
        fresh = file.is_file() and file.read_text(encoding="utf-8") == text
        if not fresh and write:
            file.write_text(text, encoding="utf-8")
        stale += not fresh and not write
        click.echo(f"{file.name}: {'up to date' if fresh else 'written' if write else 'out of date'}")
    wrong = disagreements(service, job)
    for line in wrong:
        click.echo(f"the entry of {service.name} in the table of services: {line}")
    if stale:
        click.echo(f"`forebay views {service.name} --write` writes the contracts that are out of date")
    return int(bool(stale or wrong))


def _namespace(service: Service) -> str:
    source = service.inputs[0].record
    return str(json.loads(load_contract(service.name, source).text).get("namespace", ""))
