"""The shell of `forebay sql`: statements that may take several lines, history, completion."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from forebay.cli.sql_client import FORMATS, SqlClient, show
from forebay.cli.sql_session import Session
from forebay.sql.aggregates.loaded import AGGREGATES
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import SIGNATURES, SPECIAL

__all__ = ["Session", "completions", "shell"]

WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "EMIT",
    "CHANGES",
    "LIMIT",
    "SHOW",
    "STREAMS",
    "TABLES",
    "QUERIES",
    "TOPICS",
    "FUNCTIONS",
    "TYPES",
    "PROPERTIES",
    "VARIABLES",
    "DEFINE",
    "UNDEFINE",
    "RUN",
    "SCRIPT",
    "DESCRIBE",
    "EXPLAIN",
    "AND",
    "OR",
    "NOT",
    "IN",
    "LIKE",
    "BETWEEN",
    "IS",
    "NULL",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "AS",
    "ROWTIME",
    "WINDOWSTART",
    "WINDOWEND",
]
_HELP = """Statements end with a semicolon and may take several lines.
  SHOW STREAMS; SHOW TABLES; SHOW QUERIES; SHOW TOPICS; SHOW FUNCTIONS;
  DESCRIBE name;  EXPLAIN query;
  SELECT ... FROM table WHERE key = ...;      rows as of now
  SELECT ... FROM name EMIT CHANGES;          rows as they change; Ctrl-C ends it
  SET 'auto.offset.reset' = 'earliest';       later push queries begin with the existing records
  DEFINE name = 'value';  SHOW VARIABLES;     later statements may contain ${name}
  RUN SCRIPT 'file.sql';                      run the statements of a local file
  format table|json|csv      help      exit"""


def shell(client: SqlClient, how: str) -> None:
    """Read statements and show their results, until `exit` or the end of the input."""
    history, session = _prepare_history(), Session(client)
    click.echo("forebay sql: `help` lists what can be written, `exit` ends")
    text = ""
    try:
        while True:
            try:
                line = input("sql> " if not text else "...> ")
            except KeyboardInterrupt:
                click.echo()
                text = ""
                continue
            except EOFError:
                return
            word = line.strip().rstrip(";").lower()
            if not text and word in ("exit", "quit"):
                return
            if not text and word == "help":
                click.echo(_HELP)
                continue
            if not text and word.startswith("format"):
                how = _format(word, how)
                continue
            text = f"{text}\n{line}" if text else line
            if text.rstrip().endswith(";"):
                _answer(session, text, how)
                text = ""
    finally:
        _keep(history)


def _answer(session: Session, text: str, how: str) -> None:
    try:
        for lines in session.answers(text):
            show(lines, how)
    except SqlError as error:
        click.echo(str(error), err=True)
    except click.ClickException as error:
        click.echo(error.format_message(), err=True)
    except KeyboardInterrupt:
        click.echo()


def _format(word: str, how: str) -> str:
    format_name = word.rsplit(maxsplit=1)[-1]
    if format_name in FORMATS:
        return format_name
    click.echo(f"rows are shown as {how}; write format {', format '.join(FORMATS)}")
    return how


def completions(start: str) -> list[str]:
    """Return the known words that begin with `start`, in either case."""
    known = {*WORDS, *SIGNATURES, *SPECIAL, *AGGREGATES}
    return sorted(word for word in known if word.startswith(start.upper()))


def _prepare_history() -> Path:
    """Set up completion and history if readline is available. Return the history's file."""
    file = Path.home() / ".forebay_sql_history"
    with suppress(ImportError, OSError):
        import readline  # noqa: PLC0415 (not on every system)

        readline.parse_and_bind("tab: complete")
        readline.set_completer(lambda start, at: next(iter(completions(start)[at : at + 1]), None))
        if file.is_file():
            readline.read_history_file(file)
    return file


def _keep(file: Path) -> None:
    with suppress(ImportError, OSError):
        import readline  # noqa: PLC0415

        readline.set_history_length(1000)
        readline.write_history_file(file)
        # Only the user may read the file: statements of INSERT INTO contain data.
        file.chmod(0o600)
