"""forebay queries: a job's stores, served to others while it runs."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.following import following_options, job_settings
from forebay.cli.names import service_argument
from forebay.cli.signals import stop_requests
from forebay.queries.gate import NoToken, read_logins, read_token
from forebay.queries.kept import FilesInUse
from forebay.queries.server import QueryServer
from forebay.runtime.http import Limits, Tls
from forebay.runtime.logs import configure_logging


def _token(_context: click.Context, _parameter: click.Parameter, file: Path | None) -> bytes | None:
    try:
        return None if file is None else read_token(file)
    except NoToken as error:
        raise click.BadParameter(str(error)) from error


def _logins(_context: click.Context, _parameter: click.Parameter, file: Path | None) -> tuple[bytes, ...]:
    try:
        return () if file is None else read_logins(file)
    except NoToken as error:
        raise click.BadParameter(str(error)) from error


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    epilog="""\b
Examples:
  forebay queries user-sessions --http-port 7070
  curl localhost:7070/stores/user-profiles/user-000042
  curl -H "Authorization: Bearer $(cat token)" localhost:7070/stores       with --token-file token
  curl -N localhost:7070/changes/user-profiles?begin=snapshot"""
)
@service_argument
@connection_options
@following_options
@click.option("--every-ms", type=click.IntRange(10), default=100, help="How often the stores are brought up to date.")
@click.option("--http-host", default="127.0.0.1", help="Address to serve on; 0.0.0.0 for all.")
@click.option("--http-port", type=click.IntRange(0, 65535), default=7070, help="Port to serve on; 0: a free one.")
@click.option(
    "--token-file",
    "token",
    type=click.Path(path_type=Path),
    callback=_token,
    help="File with a token that queries must send: Authorization: Bearer TOKEN.",
)
@click.option(
    "--login-file",
    "logins",
    type=click.Path(path_type=Path),
    callback=_logins,
    help="File of name:password, one a line: whoever sends one of them (HTTP Basic) is let in.",
)
@click.option("--tls-certificate", type=_FILE, help="Certificate, PEM: serve https. Needs --tls-key.")
@click.option("--tls-key", type=_FILE, help="Key of the certificate, PEM.")
@click.option("--max-connections", type=click.IntRange(1), default=1_000, help="Open at once; more get 503.")
@click.option("--max-follows", type=click.IntRange(1), default=100, help="Pushes at once; more get 503.")
@click.option(
    "--store-directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep rows in files there: little memory, and a start goes on where the last one ended. Default: in memory.",
)
def queries(
    service: Service,
    home: Path,
    application: str | None,
    logic: dict[str, str],
    every_ms: int,
    http_host: str,
    http_port: int,
    log_format: str,
    token: bytes | None,
    logins: tuple[bytes, ...],
    tls_certificate: Path | None,
    tls_key: Path | None,
    max_connections: int,
    max_follows: int,
    store_directory: Path | None,
    **connection: Any,
) -> None:
    """Answer queries of SERVICE's stores over HTTP, until Ctrl-C or SIGTERM.

    It follows the job's changelogs and holds the rows, each task's as of one commit. GET /stores
    lists the stores, /stores/STORE and /stores/STORE/KEY read them, /changes/STORE follows one (docs/queries.md).
    With --token-file whoever sends no token gets 401; /healthz, /readyz and /metrics stay open.
    """
    configure_logging(log_format)
    if (tls_certificate is None) != (tls_key is None):
        raise click.UsageError("--tls-certificate and --tls-key belong together: give both")
    tls = None if tls_certificate is None or tls_key is None else Tls(tls_certificate, tls_key)
    kafka = connect(home=home, **connection)
    settings = job_settings(service, logic)
    try:
        server = QueryServer(kafka, service, application or service.name, settings, token, store_directory, logins)
    except FilesInUse as error:
        raise click.BadParameter(str(error), param_hint="--store-directory") from error
    with stop_requests() as stop:
        limits = Limits(connections=max_connections, streams=max_follows)
        try:
            server.serve(http_host, http_port, every_ms / 1000, stop, limits, tls)
        except ssl.SSLError as error:
            raise click.BadParameter(f"no certificate with its key: {error}", param_hint="--tls-certificate") from error
