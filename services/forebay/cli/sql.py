"""forebay sql: statements of ksqlDB's dialect in a file, on the command line, in a shell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from forebay.cli.connection import connect, connection_options
from forebay.cli.sql_client import FORMATS, SqlClient, show
from forebay.cli.sql_session import Session
from forebay.cli.sql_shell import shell
from forebay.kafka.registry import SchemaRegistry, shared_registry
from forebay.queries.gate import NoToken, read_token
from forebay.serde.resolver import RegistryUnavailable
from forebay.serde.subjects import connect_when_asked
from forebay.service.plugins import VARIABLE as SERVICES
from forebay.sql.describing import describe
from forebay.sql.errors import SqlError
from forebay.sql.extension.loading import VARIABLE as FUNCTIONS
from forebay.sql.program import Program, program_of_statements
from forebay.sql.schemas.lookup import Kept
from forebay.sql.service import MODULE, VARIABLE, name_of, program_at, runnable, statements_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command, Select, Statement

_CONTEXT = {"ignore_unknown_options": True, "allow_extra_args": True}


@click.command(
    context_settings=_CONTEXT,
    epilog="""\b
Examples:
  forebay sql -f views.sql                             check a file; print its plan
  forebay sql -f views.sql --run                       create its topics and run it as a job
  forebay sql -f views.sql --serve --http-port 7070    answer queries of that job
  forebay sql -f views.sql --backfill --from parquet:/lake/readings
                                                       process history first; --run then continues
  forebay sql -e "SELECT * FROM avg_readings WHERE sensor = 'sensor-1';"
  forebay sql                                          a shell on a query server or an engine
  forebay sql --live shop                              an engine that accepts statements from `forebay sql`

Options that --run, --serve or --backfill do not know go to `forebay run`, `forebay queries` or `forebay backfill`,
those that --live does not know to `forebay run`; `forebay sql --live NAME --help-live` lists its own.""",
)
@click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(exists=True, path_type=Path),
    help="File of statements, or folder of .sql files.",
)
@click.option("-e", "--execute", "statement", help="Statement for the server; with -f SHOW, DESCRIBE, EXPLAIN.")
@click.option("--run", "runs", is_flag=True, help="Run the file's statements as a job.")
@click.option("--serve", "serves", is_flag=True, help="Answer queries of the file's job over HTTP.")
@click.option("--backfill", "backfills", is_flag=True, help="Process the history of the file's inputs, then end.")
@click.option("--live", "application", metavar="NAME", help="Run an engine that accepts statements over HTTP.")
@click.option(
    "--functions",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of functions in Python. Repeatable.",
)
@click.option("--format", "how", type=click.Choice(FORMATS), default="table", help="Format of rows.")
@click.option("--server", default="http://127.0.0.1:7070", envvar="FOREBAY_SQL_SERVER", help="URL of the server.")
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with the server's token."
)
@connection_options
@click.pass_context
def sql(
    context: click.Context,
    /,
    path: Path | None,
    statement: str | None,
    runs: bool,
    serves: bool,
    backfills: bool,
    application: str | None,
    functions: tuple[Path, ...],
    how: str,
    server: str,
    token_file: Path | None,
    **connection: Any,
) -> None:
    """Check, run and query statements of ksqlDB's dialect (docs/sql.md).

    With -f alone, the file is checked and its plan printed. With --run, it runs as a job until Ctrl-C. With --serve, a
    query server answers queries of that job. With --backfill, the job's history is processed first. With --live, an
    engine accepts statements and stores them. Without a file, statements are sent to a query server or an engine:
    one with -e, or many in a shell.
    """
    modes = {"run": runs, "queries": serves, "backfill": backfills}
    commands = [name for name, is_asked in modes.items() if is_asked]
    if commands and path is None:
        raise click.UsageError("--run, --serve and --backfill need a file of statements: add -f FILE")
    if len(commands) > 1:
        raise click.UsageError("use only one of --run, --serve and --backfill")
    if functions:
        os.environ[FUNCTIONS] = os.pathsep.join(str(file.resolve()) for file in functions)
    connect_when_asked(lambda: read_registry(connection))
    if application is not None:
        if path is not None or statement is not None or commands:
            raise click.UsageError("--live accepts statements over HTTP: remove -f, -e, --run, --serve and --backfill")
        _engine(application, connection, context.args, token_file)
        return
    try:
        if path is not None and commands:
            _as_service(path, commands[0], connection, context.args, token_file)
            return
        if context.args:
            raise click.UsageError(f"there is no option {context.args[0]}")
        if path is not None:
            _offline(path, statement, how)
            return
    except SqlError as error:
        raise click.ClickException(str(error)) from error
    client = SqlClient(server, token_of(token_file))
    if statement is not None:
        _send(client, statement, how)
    else:
        shell(client, how)


def _send(client: SqlClient, text: str, how: str) -> None:
    """Send the statements of -e, and show their results."""
    try:
        for lines in Session(client).answers(text):
            show(lines, how)
    except SqlError as error:
        raise click.ClickException(str(error)) from error


def read_registry(connection: dict[str, Any]) -> SchemaRegistry:
    """Return the registry that the options specify. Raises RegistryUnavailable, which the statement's error reports."""
    try:
        return shared_registry(connect(**connection).registry())
    except click.UsageError:
        raise
    except click.ClickException as error:
        raise RegistryUnavailable(error.format_message()) from error


def _offline(path: Path, statement: str | None, how: str) -> None:
    """Print a file's plan, or answer SHOW, DESCRIBE or EXPLAIN from the file alone. Raises SqlError."""
    statements, lookup = statements_of(path), Kept(path)
    statements_asked: list[Statement] = [Command("EXPLAIN", "ALL")]
    if statement is None:
        program = runnable(statements, lookup)
        _warn(program)
    else:
        computed = (statement for statement in statements if not isinstance(statement, Select))
        program, statements_asked = program_of_statements(computed, lookup=lookup), parse(statement)
    for statement_asked in statements_asked:
        if not isinstance(statement_asked, Command):
            raise SqlError(
                statement_asked.place,
                "without a query server, only SHOW, DESCRIBE and EXPLAIN are answered: run the file with --run, start "
                "a query server with --serve, and send this statement without -f",
            )
        lines = describe(program, statement_asked)
        if statement_asked.verb == "EXPLAIN" and how == "table":
            for line in lines:
                if "row" in line:
                    click.echo(line["row"]["plan"])
        else:
            show(lines, how)


def _warn(program: Program) -> None:
    for warning in program.warnings:
        click.echo(f"warning: {warning}", err=True)


def token_of(file: Path | None) -> str:
    """Return the token of --token-file, "" without one. Raises click.UsageError."""
    try:
        return "" if file is None else read_token(file).decode()
    except NoToken as error:
        raise click.UsageError(f"--token-file: {error}") from error


def _as_service(
    path: Path, command: str, connection: dict[str, Any], rest: Sequence[str], token_file: Path | None
) -> None:
    """Run another forebay command with the file as its service. Raises SqlError."""
    from forebay.cli.main import cli  # noqa: PLC0415 (the group imports this module)

    whole = path.resolve()
    _warn(program_at(whole))
    os.environ[VARIABLE] = str(whole)
    others = [name for name in os.environ.get(SERVICES, "").split(",") if name and name != MODULE]
    os.environ[SERVICES] = ",".join([*others, MODULE])
    name, connection_options = name_of(whole), given_connection(connection)
    if command in ("run", "backfill"):
        connection_options.append("--create-topics")
    if token_file is not None:
        rest = [*rest, "--token-file", str(token_file)]
    cli.main([command, name, *connection_options, *rest], standalone_mode=False)


def _engine(application: str, connection: dict[str, Any], rest: Sequence[str], token_file: Path | None) -> None:
    from forebay.cli.sql_live import live  # noqa: PLC0415 (the shell needs no engine)

    token = [] if token_file is None else ["--token-file", str(token_file)]
    live.main([application, *given_connection(connection), *token, *rest], "forebay sql --live", standalone_mode=False)


def given_connection(connection: dict[str, Any]) -> list[str]:
    """Return the options of a connection as the arguments of another command."""
    arguments: list[str] = []
    for name, option in (
        ("bootstrap_servers", "--bootstrap-servers"),
        ("schema_registry_url", "--schema-registry-url"),
    ):
        if connection[name]:
            arguments += [option, str(connection[name])]
    for pair in connection["kafka_options"]:
        arguments += ["-X", str(pair)]
    return [*arguments, "--home", str(connection["home"])]
