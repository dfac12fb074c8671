"""forebay sql --live: an engine that accepts statements over HTTP, stores them, and runs their job."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import click

from forebay.cli.connection import connect, connection_options
from forebay.cli.queries import token_option
from forebay.cli.signals import stop_requests
from forebay.cli.sql import given_connection
from forebay.cli.topic_creation import create_missing
from forebay.cli.watched_files import watch_given_folder
from forebay.http.messages import Limits, Tls
from forebay.http.server import HttpServer
from forebay.kafka.retrying import keep_trying
from forebay.live.directory import EngineRuns, hold_directory
from forebay.live.engine import Engine
from forebay.live.history import UnreadableChange
from forebay.live.keeper import JobKeeper
from forebay.live.log import JobOfFiles, Replaced
from forebay.live.names import mark_engine
from forebay.live.pages import EnginePages
from forebay.queries.gate import Gate
from forebay.runtime.process.logs import configure_logging
from forebay.sql.errors import SqlError
from forebay.sql.service import name_of

log = logging.getLogger(__name__)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_CHECK_SECONDS = 5.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": ["--help-live"]}
)
@click.argument("application", metavar="NAME")
@connection_options
@click.option("--http-host", default="127.0.0.1", help="Address to serve on. Other addresses need a token.")
@click.option("--http-port", type=click.IntRange(0, 65535), default=7070, help="Port to serve on; 0: a free one.")
@token_option("--token-file", "reads", "File with a token that requests must send: Authorization: Bearer TOKEN.")
@token_option(
    "--change-token-file",
    "changes",
    "File with the token for statements that change something. Default: that of --token-file.",
)
@click.option("--tls-certificate", type=_FILE, help="Certificate, PEM: serve https. Needs --tls-key.")
@click.option("--tls-key", type=_FILE, help="Key of the certificate, PEM.")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", help="Format of log lines.")
@click.pass_context
def live(
    context: click.Context,
    /,
    application: str,
    http_host: str,
    http_port: int,
    reads: bytes | None,
    changes: bytes | None,
    tls_certificate: Path | None,
    tls_key: Path | None,
    log_format: str,
    **connection: Any,
) -> None:
    """Run the engine NAME. It accepts SQL statements over HTTP, stores them in NAME-statements, and runs their job.

    All other options are those of `forebay run`, for the job. After a stop, the same command resumes.
    """
    configure_logging(log_format)
    if name_of(Path(f"{application}.sql")) != application:
        raise click.UsageError(f"--live {application}: a name has only lowercase letters, digits and hyphens")
    if (tls_certificate is None) != (tls_key is None):
        raise click.UsageError("--tls-certificate and --tls-key must be used together")
    if http_host not in _LOOPBACK and changes is None and reads is None:
        raise click.UsageError(
            f"--http-host {http_host} lets other machines change the job: use --change-token-file, too"
        )
    watch_given_folder()
    kafka = connect(**connection)
    mark_engine(application)
    directory = (connection["home"] / "live" / application).resolve()

    def command(file: Path, port: int) -> list[str]:
        own = ["-f", str(file), "--run", "--no-check", "--http-port", str(port)]
        connection_options = given_connection(connection)
        return [sys.executable, "-m", "forebay.cli.main", "sql", *own, *connection_options, *context.args]

    keeper = JobKeeper(application, command, directory)
    engine = Engine(kafka, application, directory, lambda service: _create(kafka, service, application), keeper)
    tls = None if tls_certificate is None or tls_key is None else Tls(tls_certificate, tls_key)
    reasons: list[str] = []
    try:
        with hold_directory(directory), stop_requests() as stop:

            def pause(seconds: float) -> None:
                stop.wait(seconds)

            def end(reason: str) -> None:
                reasons.append(reason)
                stop.set()

            keep_trying(engine.start, pause=pause)
            tokens = [token for token in (reads, changes) if token is not None]
            pages = EnginePages(engine, kafka, Gate(tokens=tokens), Gate(changes or reads), end)
            server = HttpServer(pages.answer, http_host, http_port, Limits(), tls)
            scheme = "http" if tls is None else "https"
            log.info("%s: statements are accepted at %s://%s:%d/sql", application, scheme, http_host, server.port)
            try:
                while not stop.wait(_CHECK_SECONDS):
                    engine.check()
            finally:
                server.close()
                engine.close()
    except (JobOfFiles, UnreadableChange, SqlError, EngineRuns, Replaced) as error:
        raise click.ClickException(str(error)) from error
    if reasons:
        raise click.ClickException(reasons[0])


def _create(kafka: Any, service: Any, application: str) -> None:
    for name in create_missing(kafka, service, application, 0):
        log.info("%s: created", name)
