"""forebay standby: keep warm copies of a job's state."""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.follower_options import following_options, job_settings
from forebay.cli.names import service_argument
from forebay.cli.signals import stop_requests
from forebay.cli.watched_files import watch_given_folder
from forebay.http.health import health_server
from forebay.kafka.retrying import keep_trying
from forebay.runtime.maintenance.standby import standby_of
from forebay.runtime.maintenance.standby_metrics import StandbyMetrics
from forebay.runtime.process.logs import configure_logging

log = logging.getLogger(__name__)


@click.command(
    epilog="""\b
Examples:
  forebay standby user-sessions --directory /var/lib/forebay/standby
  forebay run user-sessions --standby-directory /var/lib/forebay/standby"""
)
@service_argument
@connection_options
@following_options
@click.option(
    "--directory", required=True, help="Directory of the copies, on a local disk of the machine that takes over."
)
@click.option("--http-host", default="127.0.0.1", help="Address of /healthz, /readyz and /metrics.")
@click.option(
    "--http-port",
    type=click.IntRange(-1, 65_535),
    default=-1,
    help="Port of these pages. 0: a free port; -1: none.",
    show_default=True,
)
@click.option("--every-ms", type=click.IntRange(10), default=1_000, help="How often the copies are updated.")
def standby(
    service: Service,
    home: Path,
    application: str | None,
    logic: dict[str, str],
    directory: str,
    every_ms: int,
    http_host: str,
    http_port: int,
    log_format: str,
    **connection: Any,
) -> None:
    """Follow SERVICE's changelogs and keep copies of its tasks' tables, until Ctrl-C or SIGTERM.

    A job that is started with --standby-directory on the same machine loads these copies instead of its
    snapshots, and then replays only the rest of the changelogs.
    """
    configure_logging(log_format)
    watch_given_folder()
    kafka = connect(home=home, **connection)
    settings = job_settings(service, logic)
    app = application or service.name

    metrics = StandbyMetrics(service.name)

    def on_round(commit: int, rows: int) -> None:
        metrics.observe(rows)
        if commit >= 0:
            log.info("%s: copies are at commit %d: %d rows", app, commit, rows)

    with stop_requests() as stop, ExitStack() as open_things:
        if http_port >= 0:
            server = health_server(metrics.health, metrics.registry, http_host, http_port)
            open_things.callback(server.close)
            log.info("%s: http://%s:%d has /healthz, /readyz, /metrics", app, http_host, server.port)

        def pause(seconds: float) -> None:
            stop.wait(seconds)

        def follow() -> None:
            with closing(standby_of(kafka, service, app, settings, directory)) as follower:
                metrics.follow(follower)
                follower.follow(stop, every_ms / 1000, on_round)

        keep_trying(follow, pause=pause)
