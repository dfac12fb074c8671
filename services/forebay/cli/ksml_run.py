"""forebay ksml run: definitions as a job on a broker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay.cli.application import application_of, run_until_told
from forebay.cli.connection import connect, connection_options
from forebay.cli.job_options import engine_fields, job_options
from forebay.cli.ksml_files import create_option, create_topics, files_options, mount_files
from forebay.cli.names import rename_topics
from forebay.cli.watched_files import watch_given_folder
from forebay.runtime.driver.plan import Trigger
from forebay.runtime.driver.restore import Restore

_CONNECTION = ("bootstrap_servers", "schema_registry_url", "kafka_options")


@click.command(
    epilog="""\b
Examples:
  forebay ksml run sessions.yaml
  forebay ksml run definitions/ --application sessions --http-port 8080
  forebay ksml run sessions.yaml --set function_time_limit_ms=1000 --trigger available-now"""
)
@files_options
@connection_options
@create_option
@click.option("--restore", is_flag=True, help="If the checkpoint is missing, rebuild it from the changelogs.")
@job_options
def run(
    files: tuple[Path, ...],
    schemas: tuple[Path, ...],
    modules: tuple[Path, ...],
    create: bool,
    restore: bool,
    home: Path,
    **options: Any,
) -> None:
    """Run definitions as one job, until Ctrl-C or SIGTERM, which stop it after the current commit.

    The job's application id is the first file's name unless --application is used. After a stop, the same command
    resumes the job.
    """
    if options["trigger"] == Trigger.CONTINUOUS.value:
        watch_given_folder()
    settings = connect(home=home, **{name: options[name] for name in _CONNECTION})
    mounted_service = mount_files(files, schemas, modules, settings, options["application"] or "").service
    (service,) = rename_topics((mounted_service,), options["topics"])
    if create:
        application = options["application"] or service.name
        for line in create_topics(settings, service.topics(application, options["tasks"])):
            click.echo(line)
    restore_mode = Restore.IF_MISSING if restore else Restore.NO
    run_until_told(application_of(service, home, options, engine_fields(options), restore_mode))
