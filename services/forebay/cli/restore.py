"""forebay restore: rebuild a lost checkpoint from the changelogs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.application import ENDING, application_of, run_until_told
from forebay.cli.connection import connection_options
from forebay.cli.job_options import ending_job_options, engine_fields
from forebay.cli.names import rename_topics, service_argument
from forebay.cli.restoring import restore_bar
from forebay.runtime.driver.restore import Restore


@click.command(
    epilog="""\b
Examples:
  forebay restore user-sessions
  forebay restore user-sessions --checkpoint s3a://bucket/checkpoints/user-sessions
  forebay run user-sessions --restore            the same if necessary, then run"""
)
@service_argument
@connection_options
@ending_job_options
def restore(service: Service, home: Path, **options: Any) -> None:
    """Create a new checkpoint for SERVICE's job from its changelogs, then end. `forebay run` resumes from it.

    Nothing is lost or repeated, because each transaction contains results, the changed rows and the input offsets that
    they belong to. Stop the job first, and use the same options as for `forebay run`. An existing checkpoint is not
    changed.
    """
    (service,) = rename_topics((service,), options["topics"])
    engine = engine_fields(options)
    job = application_of(service, home, {**options, **ENDING}, engine, Restore.ONLY)
    application = options["application"] or service.name
    changelogs = [topic.name for topic in service.changelogs(application, 1)]
    with restore_bar(job.kafka, application, changelogs):
        run_until_told(job)
    if not job.reports.restored:
        raise click.ClickException(
            "the checkpoint has the state already, so nothing was restored: `forebay run` continues from it"
        )
    rows, size = (
        sum(getattr(report, name) for report in job.reports.restored) for name in ("state_rows", "state_bytes")
    )
    tasks = len(job.reports.restored)
    click.echo(f"restored {rows} rows ({size / 1e6:.1f} MB) of {tasks} tasks; `forebay run {service.name}` continues")
