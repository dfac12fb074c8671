"""forebay insert: insert one row into a stream or table that SQL statements declare."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from forebay.cli.connection import connect, connection_options
from forebay.cli.sql import read_registry, token_of
from forebay.cli.sql_client import SqlClient
from forebay.queries.sending import send_records
from forebay.serde.subjects import connect_when_asked
from forebay.sql.describing import describe
from forebay.sql.errors import SqlError
from forebay.sql.insert_texts import WrongRow, insert_of, json_value, name_of, value_of
from forebay.sql.inserting import record_of
from forebay.sql.program import Program, program_of_statements
from forebay.sql.schemas.lookup import Kept
from forebay.sql.service import statements_of
from forebay.sql.statements import parse
from forebay.sql.syntax import Command, InsertValues, Select

_PLACE = re.compile(r"^line \d+, column \d+: ")


@click.command(
    epilog="""\b
Examples:
  forebay insert readings sensor=s-1 area=hall reading=4.5
  forebay insert readings '{"sensor": "s-1", "area": null, "tags": ["a", "b"]}'
  forebay insert readings -f views.sql sensor=s-1 ROWTIME=1700000000000

Without -f, the row goes to the engine or query server at --server (`forebay sql --live NAME`, `forebay sql -f FILE
--serve`). With -f, the file declares TARGET, and the record goes to the broker. A column that is left out is null.
ROWTIME is the record's time in ms, now if it is left out. For rows in bulk: `forebay produce`."""
)
@click.argument("target")
@click.argument("values", nargs=-1, required=True, metavar="COLUMN=VALUE...|JSON")
@click.option(
    "-f",
    "--file",
    "path",
    type=click.Path(exists=True, path_type=Path),
    help="File with the statements that declare TARGET.",
)
@click.option(
    "--server",
    default="http://127.0.0.1:7070",
    envvar="FOREBAY_SQL_SERVER",
    help="URL of the engine or query server that sends the row, without -f.",
)
@click.option(
    "--token-file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with the server's token."
)
@connection_options
def insert(
    target: str,
    values: tuple[str, ...],
    *,
    path: Path | None,
    server: str,
    token_file: Path | None,
    **connection: Any,
) -> None:
    """Insert one row into TARGET, a declared stream or table.

    Write the row as COLUMN=VALUE arguments or as one JSON object. Lists, maps and structs are written in JSON.
    """
    try:
        name = name_of(target)
        if path is None:
            client = SqlClient(server, token_of(token_file))
            name, described = _describe(client, name, target)
            text = insert_of(name, *_row(values, described))
            topic = _topic_of(_response_lines(client, text))
        else:
            connect_when_asked(lambda: read_registry(connection))
            program = _program_of(path)
            (command,) = parse(_describe_statement(name))
            assert isinstance(command, Command)
            text = insert_of(name, *_row(values, describe(program, command)))
            topic = _send(text, program, connection)
    except WrongRow as error:
        raise click.UsageError(str(error)) from error
    except SqlError as error:
        # The user did not write the statement, so a place in it would mean nothing.
        raise click.ClickException(str(error) if error.place.file else error.reason) from error
    click.echo(f"{topic or name}: 1 record sent")


def _describe_statement(name: str) -> str:
    return f"DESCRIBE `{name.replace('`', '``')}`;"


def _describe(client: SqlClient, name: str, target: str) -> tuple[str, list[dict[str, Any]]]:
    """Return the target's name on a server, and the lines of its DESCRIBE. Raises click.ClickException.

    In a service of PostgreSQL views, names that are not quoted have lower-case letters.
    """
    try:
        return name, list(_response_lines(client, _describe_statement(name)))
    except click.ClickException:
        lower = target.lower()
        if target.startswith("`"):
            raise
        try:
            return lower, list(_response_lines(client, _describe_statement(lower)))
        except click.ClickException:
            pass  # the error about the name in capital letters is the one to report
        raise


def _row(values: Sequence[str], described: Iterable[dict[str, Any]]) -> tuple[list[tuple[str, Any]], dict[str, str]]:
    """Return the values by column, and the types by column. Raises WrongRow."""
    types: dict[str, str] = {}
    for line in described:
        if "row" in line:
            types[line["row"]["column"]] = line["row"]["type"]
    if len(values) == 1 and values[0].lstrip().startswith("{"):
        return list(_object_of(values[0]).items()), types
    row = []
    for pair in values:
        column, equals, text = pair.partition("=")
        if not equals or not column:
            raise WrongRow(
                f"{pair!r} is not a value of a column: write COLUMN=VALUE, or the whole row as one JSON object"
            )
        kind = "BIGINT" if column.upper() == "ROWTIME" else types.get(column, types.get(column.upper()))
        row.append((column, value_of(text, kind)))
    return row, types


def _object_of(text: str) -> dict[str, Any]:
    try:
        content = json_value(text)
    except WrongRow:
        raise
    except (ValueError, RecursionError) as error:
        raise WrongRow(f'the row is not JSON: {error}: write it as {{"column": value}}') from error
    if not isinstance(content, dict) or not content:
        raise WrongRow('the row has no columns: write it as {"column": value}')
    return content


def _program_of(path: Path) -> Program:
    """Return the program of a file, which need not compute anything. Raises SqlError."""
    statements = (statement for statement in statements_of(path) if not isinstance(statement, Select))
    return program_of_statements(statements, lookup=Kept(path))


def _send(text: str, program: Program, connection: dict[str, Any]) -> str:
    """Send the record of a statement, and return its topic. Raises SqlError, EncodeError, Unavailable."""
    (statement,) = parse(text)
    assert isinstance(statement, InsertValues)
    record = record_of(statement, program.catalog)
    send_records(connect(**connection), [record])
    return record.topic


def _topic_of(lines: Iterator[dict[str, Any]]) -> str:
    """Return the topic in a server's response; "" if it contains none."""
    return "".join(line["row"].get("topic", "") for line in lines if "row" in line)


def _response_lines(client: SqlClient, text: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a server's response. Raises click.ClickException, without a place in the statement."""
    try:
        for line in client.lines(text):
            if "error" in line:
                raise click.ClickException(line["error"])
            yield line
    except click.ClickException as error:
        raise click.ClickException(_PLACE.sub("", error.message)) from error
