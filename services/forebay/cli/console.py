"""forebay console: jobs, topologies, stores, errors and topics in a browser."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from forebay.catalog import UnknownService, all_services, find_service
from forebay.cli.connection import connect, connection_options
from forebay.cli.names import pairs, rename_topics, topics_option
from forebay.cli.signals import stop_requests
from forebay.cli.watched_files import watch_given_folder
from forebay.console.engines import Engines
from forebay.console.job_address import WatchedJob, WrongAddress, checked_url
from forebay.console.local_queries import LocalQueries
from forebay.console.server import ConsoleServer
from forebay.demo.plan import CONSOLE_PORT
from forebay.kafka.settings import KafkaSettings
from forebay.platform.ports import HOST
from forebay.queries.gate import NoToken, read_token
from forebay.runtime.process.logs import FORMATS, configure_logging


class JobType(click.ParamType[WatchedJob]):
    """A service whose job the console shows, with the URL of the job's /metrics if it serves them: SERVICE[=URL]."""

    name = "job"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> WatchedJob:
        """Return the job. Fail for an unknown service or an invalid URL."""
        if isinstance(value, WatchedJob):
            return value
        name, separator, url = value.partition("=")
        try:
            return WatchedJob(find_service(name), name, checked_url(url) if separator else "")
        except (UnknownService, WrongAddress) as error:
            self.fail(str(error), param, ctx)


def _engine_urls(_context: click.Context, _parameter: click.Parameter, urls: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(checked_url(url) for url in urls)
    except WrongAddress as error:
        raise click.BadParameter(str(error)) from error


@click.command(
    epilog="""\b
Examples:
  forebay console                                               all services, by their tasks' reports
  forebay console user-sessions=http://127.0.0.1:8080           a job started with --http-port 8080
  forebay console --engine http://127.0.0.1:7070                a SQL engine, too
  forebay console user-sessions --queries user-sessions=http://127.0.0.1:7070 --token-file token"""
)
@click.argument("jobs", nargs=-1, type=JobType(), metavar="[SERVICE[=URL]]...")
@connection_options
@click.option(
    "--queries",
    "servers",
    multiple=True,
    metavar="SERVICE=URL",
    callback=pairs,
    help="URL of a job's query server. Default: the console starts one when the job's stores are first opened.",
)
@click.option(
    "--application",
    "applications",
    multiple=True,
    metavar="SERVICE=ID",
    callback=pairs,
    help="Application id of a job. Default: its service's name.",
)
@click.option(
    "--engine",
    "engines",
    multiple=True,
    metavar="URL",
    callback=_engine_urls,
    help="URL of a SQL engine (`forebay sql --live`), http://HOST:PORT. It gets the token of --token-file.",
)
@topics_option
@click.option("--http-host", default="127.0.0.1", help="Address to serve on; 0.0.0.0 for all, :: with IPv6.")
@click.option(
    "--http-port", type=click.IntRange(0, 65535), default=CONSOLE_PORT, help="Port to serve on; 0: a free one."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with a token. The page asks for it and sends it as Authorization: Bearer TOKEN.",
)
@click.option("--log-format", type=click.Choice(list(FORMATS)), default="text", help="Format of log lines.")
def console(
    jobs: tuple[WatchedJob, ...],
    home: Path,
    *,
    servers: dict[str, str],
    applications: dict[str, str],
    engines: tuple[str, ...],
    topics: dict[str, str],
    http_host: str,
    http_port: int,
    token_file: Path | None,
    log_format: str,
    **connection: Any,
) -> None:
    """Serve a web page that shows jobs: states and rates, topologies, stores, SQL, errors, topics.

    The console is read-only. URL is where a job serves /metrics (`forebay run --http-port`). Without it, the console
    reads the reports of the job's tasks from the broker. With --token-file, the page asks for the token, which is also
    sent to query servers.
    """
    configure_logging(log_format)
    watch_given_folder()
    kafka = connect(home=home, **connection)
    chosen = jobs or tuple(WatchedJob(service, service.name) for service in all_services().values())
    watched = _with_addresses(_with_topics(chosen, topics), servers, applications)
    command = Command(kafka, home, token_file, connection["kafka_options"])
    token = _token(token_file)
    seen = Engines(engines, (token or b"").decode())
    server = ConsoleServer(kafka, watched, LocalQueries(command), token, home, seen)
    with stop_requests() as stop:
        server.serve(http_host, http_port, stop)


def _token(file: Path | None) -> bytes | None:
    try:
        return None if file is None else read_token(file)
    except NoToken as error:
        raise click.UsageError(f"--token-file: {error}") from error


def _with_topics(jobs: Sequence[WatchedJob], topics: dict[str, str]) -> list[WatchedJob]:
    declared = {job.name: job.service for job in jobs}
    renamed_services = {service.name: service for service in rename_topics(declared.values(), topics)}
    return [replace(job, service=renamed_services[job.name]) for job in jobs]


def _with_addresses(
    jobs: Sequence[WatchedJob], servers: dict[str, str], applications: dict[str, str]
) -> list[WatchedJob]:
    names = {job.name for job in jobs}
    for option, given in (("--queries", servers), ("--application", applications)):
        unknown = sorted(given.keys() - names)
        if unknown:
            raise click.UsageError(f"{option} {unknown[0]}=...: the console shows only {', '.join(sorted(names))}")
    try:
        return [
            WatchedJob(
                job.service,
                applications.get(job.name, job.application),
                job.page,
                checked_url(servers[job.name]) if job.name in servers else "",
            )
            for job in jobs
        ]
    except WrongAddress as error:
        raise click.UsageError(f"--queries: {error}") from error


class Command:
    """The command line of a query server on this machine. The server inherits secrets from our environment."""

    def __init__(self, kafka: KafkaSettings, home: Path, token_file: Path | None, kafka_options: Sequence[str]) -> None:
        self._kafka = kafka
        self._home = home
        self._token_file = token_file
        self._kafka_options = kafka_options

    def __call__(self, job: WatchedJob, port: int) -> list[str]:
        options = {
            "--home": str(self._home),
            "--application": job.application,
            "--bootstrap-servers": self._kafka.bootstrap_servers,
            "--schema-registry-url": self._kafka.schema_registry_url,
            "--http-host": HOST,
            "--http-port": str(port),
            **({"--token-file": str(self._token_file)} if self._token_file else {}),
        }
        arguments = [text for option in options.items() for text in option]
        further = [text for option in self._kafka_options for text in ("--kafka-option", option)]
        return [sys.executable, "-m", "forebay.cli.main", "queries", job.name, *arguments, *further]
