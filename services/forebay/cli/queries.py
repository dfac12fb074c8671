"""forebay queries: serve a job's stores over HTTP."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from forebay.catalog import Service
from forebay.cli.connection import connect, connection_options
from forebay.cli.follower_options import following_options, job_settings
from forebay.cli.names import service_argument
from forebay.cli.signals import stop_requests
from forebay.cli.watched_files import watch_given_folder
from forebay.http.messages import Limits, Tls
from forebay.queries.gate import NoToken, read_logins, read_token
from forebay.queries.parts.servers import Settings
from forebay.queries.parts.share import Share, WrongParts, check_peers, share_of
from forebay.queries.saved_rows import FilesInUse
from forebay.queries.server import QueryServer
from forebay.runtime.process.logs import configure_logging

Command = TypeVar("Command", bound=Callable[..., Any])


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


def _share(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Share | None:
    try:
        return None if text is None else share_of(text)
    except WrongParts as error:
        raise click.BadParameter(str(error)) from error


def _parts(share: Share | None, peers: str, timeout_ms: int, authority: Path | None) -> Settings | None:
    if share is None:
        if peers:
            raise click.UsageError("--peers needs --part PART/PARTS, the part of this server")
        return None
    addresses = tuple(peer.strip() for peer in peers.split(",") if peer.strip())
    try:
        check_peers(share, addresses)
    except WrongParts as error:
        raise click.BadParameter(str(error), param_hint="--peers") from error
    return Settings(share, addresses, timeout_ms / 1000, authority)


def token_option(name: str, variable: str, text: str) -> Callable[[Command], Command]:
    """Return an option whose argument is a file with a token, and whose value is the token."""
    return click.option(name, variable, type=click.Path(path_type=Path), callback=_token, help=text)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command(
    epilog="""\b
Examples:
  forebay queries user-sessions --http-port 7070
  curl localhost:7070/stores/user-profiles/user-000042
  curl -H "Authorization: Bearer $(cat token)" localhost:7070/stores       with --token-file token
  curl -N localhost:7070/changes/user-profiles?begin=snapshot
  forebay queries user-sessions --part 0/2 --peers http://one:7070,http://two:7070"""
)
@service_argument
@connection_options
@following_options
@click.option("--every-ms", type=click.IntRange(10), default=100, help="How often the stores are updated.")
@click.option("--http-host", default="127.0.0.1", help="Address to serve on; 0.0.0.0 for all, :: with IPv6.")
@click.option("--http-port", type=click.IntRange(0, 65535), default=7070, help="Port to serve on; 0: a free one.")
@token_option("--token-file", "token", "File with a token that requests must send: Authorization: Bearer TOKEN.")
@click.option(
    "--login-file",
    "logins",
    type=click.Path(path_type=Path),
    callback=_logins,
    help="File of name:password, one per line. Clients that send one of them (HTTP Basic) are accepted.",
)
@click.option("--tls-certificate", type=_FILE, help="Certificate, PEM: serve https. Needs --tls-key.")
@click.option("--tls-key", type=_FILE, help="Key of the certificate, PEM.")
@click.option(
    "--max-connections", type=click.IntRange(1), default=1_000, help="Maximum open connections. More get 503."
)
@click.option("--max-follows", type=click.IntRange(1), default=100, help="Maximum open push queries. More get 503.")
@click.option(
    "--store-directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep rows in files in this directory: uses little memory, and a restart resumes there. Default: in memory.",
)
@click.option(
    "--part",
    "share",
    metavar="PART/PARTS",
    callback=_share,
    help="Hold the tasks t with t % PARTS == PART; both count from 0. PART may be a pod name that ends in the number.",
)
@click.option(
    "--peers", default="", metavar="URL,...", help="URLs of the servers of all parts, in order, including this server."
)
@click.option("--peers-timeout-ms", type=click.IntRange(1), default=2_000, help="How long to wait for other parts.")
@click.option("--peers-ca", type=_FILE, help="CA certificates for https peers, PEM. Default: the system's.")
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
    share: Share | None,
    peers: str,
    peers_timeout_ms: int,
    peers_ca: Path | None,
    **connection: Any,
) -> None:
    """Answer queries of SERVICE's stores over HTTP, until Ctrl-C or SIGTERM.

    The server follows the job's changelogs and holds the rows of each task as of one commit. GET /stores lists the
    stores, /stores/STORE and /stores/STORE/KEY read them, /changes/STORE streams the changes of one (docs/queries.md).
    With --part and --peers, each of several servers holds a part of the tasks, and each answers for all tasks.
    With --token-file, requests without the token get 401; /healthz, /readyz and /metrics need no token.
    """
    configure_logging(log_format)
    if (tls_certificate is None) != (tls_key is None):
        raise click.UsageError("--tls-certificate and --tls-key must be used together")
    parts = _parts(share, peers, peers_timeout_ms, peers_ca)
    tls = None if tls_certificate is None or tls_key is None else Tls(tls_certificate, tls_key)
    watch_given_folder()
    kafka = connect(home=home, **connection)
    settings = job_settings(service, logic)
    try:
        name = application or service.name
        server = QueryServer(kafka, service, name, settings, token, store_directory, logins, parts)
    except ssl.SSLError as error:
        raise click.BadParameter(f"the certificates can't be loaded: {error}", param_hint="--peers-ca") from error
    except FilesInUse as error:
        raise click.BadParameter(str(error), param_hint="--store-directory") from error
    with stop_requests() as stop:
        limits = Limits(connections=max_connections, streams=max_follows)
        try:
            server.serve(http_host, http_port, every_ms / 1000, stop, limits, tls)
        except ssl.SSLError as error:
            raise click.BadParameter(
                f"the certificate and its key can't be loaded: {error}", param_hint="--tls-certificate"
            ) from error
        except WrongParts as error:
            raise click.BadParameter(str(error), param_hint="--part, --peers") from error
