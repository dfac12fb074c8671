"""forebay store: convert a job's stores to their current declaration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.application import ENDING, application_of, run_until_told
from forebay.cli.connection import connect, connection_options
from forebay.cli.job_options import ending_job_options, engine_fields
from forebay.cli.lazy import CommandGroup
from forebay.cli.names import rename_topics, service_argument
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topic_config import set_topic_config
from forebay.runtime.driver.logic_settings import WrongSettings, parse_logic
from forebay.runtime.maintenance.upgrades import TopicChange, forecast, needed_settings
from forebay.stores.kinds import OnChange


@click.group(cls=CommandGroup)
def store() -> None:
    """Convert stores whose declaration changed."""


@store.command(
    epilog="""\b
Examples:
  forebay store upgrade price-join --dry-run
  forebay store upgrade price-join
  forebay store upgrade price-join --application staging --set history_retention_ms=600000"""
)
@service_argument
@click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")
@connection_options
@ending_job_options
def upgrade(service: Service, dry_run: bool, home: Path, **options: Any) -> None:
    """Convert SERVICE's stores to their current declaration, such as another store format or retention.

    Stop the job first, and use the same options as for `forebay run`. Each task's rows are converted in the
    transaction of one commit. Pending records are processed, too.
    """
    (service,) = rename_topics((service,), options["topics"])
    connection = {name: options[name] for name in ("bootstrap_servers", "schema_registry_url", "kafka_options")}
    kafka = connect(home=home, **connection)
    application = options["application"] or service.name
    try:
        logic = parse_logic(service, options["logic"])
    except WrongSettings as error:
        raise click.UsageError(str(error)) from error
    if dry_run:
        _forecast(kafka, service, application, logic)
        return
    engine = engine_fields(options)
    engine["on_change"] = OnChange.CONVERT
    job = application_of(service, home, {**options, **ENDING}, engine)
    run_until_told(job)
    for task, conversion in dict.fromkeys(job.reports.conversions):
        click.echo(f"{task}: {conversion}")
    for change in needed_settings(kafka, service, application, logic):
        set_topic_config(kafka, change.topic, change.setting, change.needed)
        click.echo(f"{_change(change)}: set")
    if not job.reports.conversions:
        click.echo("nothing was converted")


def _forecast(kafka: KafkaSettings, service: Service, application: str, logic: dict[str, Any]) -> None:
    forecasts = forecast(kafka, service, application, logic)
    for line in forecasts:
        click.echo(str(line))
    for change in needed_settings(kafka, service, application, logic):
        click.echo(f"{_change(change)}: would be set")
    click.echo("nothing was changed")
    refused = sorted({line.store for line in forecasts if line.refused})
    if refused:
        raise click.ClickException(
            f"these stores can't be converted: {', '.join(refused)}: use the old declarations or new names"
        )


def _change(change: TopicChange) -> str:
    return f"{change.topic}: {change.setting} is {change.existing}, needed: {change.needed}"
