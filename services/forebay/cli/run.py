"""forebay run: run the jobs of services."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connection_options
from forebay.cli.job_options import job_options
from forebay.cli.names import ServiceType, application_names
from forebay.cli.spark_options import spark_options
from forebay.cli.watched_files import watch_given_folder
from forebay.platform.java import find_java
from forebay.runtime.driver.plan import Trigger
from forebay.runtime.driver.session import launch
from forebay.runtime.process.log_files import name_log


@click.command(
    epilog="""\b
Examples:
  forebay run user-sessions
  forebay run user-sessions --set idle_timeout_ms=60000 --http-port 8080
  forebay run user-sessions --trigger available-now      process all pending records, then end
  forebay run user-sessions --restore                    if the checkpoint is lost, rebuild it from the changelogs
  forebay run user-sessions --slots 2 --conf spark.ui.enabled=true
  forebay run user-sessions device-alerts                several jobs in one process and one Spark

`forebay services` lists the services, `forebay services SERVICE` the settings that --set takes."""
)
@click.argument("services", nargs=-1, required=True, type=ServiceType(), metavar="SERVICE [SERVICE]...")
@connection_options
@click.option("--restore", is_flag=True, help="If the checkpoint is missing, rebuild it from the changelogs.")
@click.option(
    "--check/--no-check",
    default=True,
    help="First try the logic on synthetic records, like `forebay check`. Use --no-check if it has side effects.",
)
@click.option(
    "--create-topics/--no-create-topics",
    default=None,
    help="Create missing topics. Default: only on the embedded platform.",
)
@job_options
def run(
    services: tuple[Service, ...],
    *,
    restore: bool,
    check: bool,
    create_topics: bool | None,
    home: Path,
    **options: Any,
) -> None:
    """Run SERVICE's job until Ctrl-C or SIGTERM, which stop it after the current commit.

    If there are several services, each job has its own checkpoint and health. If one fails, only that job restarts or
    ends. On a broker other than the embedded one, the topics must exist (`forebay topics create SERVICE`, with the same
    --application and --tasks) unless --create-topics is used. After a stop, the same command resumes the job.
    """
    if options["trigger"] == Trigger.CONTINUOUS.value:
        watch_given_folder()
    once = {service.name: service for service in services}
    find_java()
    name_log(home, application_names(once.values(), options))
    launch(spark_options(options, len(once)))
    from forebay.cli.application import run_services  # noqa: PLC0415 (half a second of imports, while Java starts)

    run_services(once.values(), home, options, restore=restore, check=check, create=create_topics)
