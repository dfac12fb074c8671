"""A client of `POST /sql`, and the output of its rows."""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import click

FORMATS = ("table", "json", "csv")
_CUT_OFF = "the answer was cut off: run the statement again"


class SqlClient:
    """Sends statements to a query server.

    Args:
        server: its URL.
        token: sent with each request; "" for none.

    Raises:
        click.UsageError: `server` is not a URL.
    """

    def __init__(self, server: str, token: str = "") -> None:
        if not _is_url(server):
            raise click.UsageError(
                f"--server {server}: write the query server's URL, such as http://127.0.0.1:7070, or https://..."
            )
        self._url = f"{server.rstrip('/')}/sql"
        self._token = token

    def lines(self, sql: str) -> Iterator[dict[str, Any]]:
        """Yield the lines of a statement's response as they arrive. Raises click.ClickException with the reason."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        request = Request(self._url, json.dumps({"sql": sql}).encode(), headers)
        is_whole = False
        try:
            with urlopen(request, timeout=120) as response:
                for line in response:
                    if line.strip():
                        content = json.loads(line)
                        if not isinstance(content, dict):
                            raise click.ClickException(f"{self._url} is not a query server: check --server")
                        is_whole |= "end" in content or "error" in content
                        yield content
        except HTTPError as error:
            raise click.ClickException(_reason(error)) from error
        except (HTTPException, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise click.ClickException(f"{_CUT_OFF} ({error})") from error
        except (URLError, TimeoutError, ConnectionError) as error:
            reason = getattr(error, "reason", error)
            raise click.ClickException(
                f"{self._url} can't be reached: {reason}: start `forebay sql -f FILE --serve`, or specify the "
                "server's URL with --server"
            ) from error
        if not is_whole:
            raise click.ClickException(_CUT_OFF)


def _is_url(server: str) -> bool:
    try:
        parts = urlsplit(server)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _reason(error: HTTPError) -> str:
    text = error.read().decode(errors="replace")
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}: {text[:200]}"


def show(lines: Iterator[dict[str, Any]], how: str) -> None:
    """Print rows as they arrive: as a table of the terminal's width, as JSON lines, or as CSV."""
    columns: list[str] = []
    table = _Table([], is_whole=True)
    for line in lines:
        if "columns" in line:
            columns = [column["name"] for column in line["columns"]]
            # Only columns of a query have types. Its rows may arrive one by one; other statements send all at once.
            table = _Table(columns, is_whole=not any("type" in column for column in line["columns"]))
            if how == "csv":
                click.echo(_csv(columns))
            continue
        if how == "json":
            click.echo(json.dumps(line.get("row", line), ensure_ascii=False))
            continue
        if "end" in line or "graph" in line:
            continue
        if "error" in line:
            raise click.ClickException(line["error"])
        row = line["row"] if "row" in line else {**line.get("tombstone", {}), "": "deleted"}
        cells = [_text(row.get(name)) for name in columns]
        if how == "csv":
            click.echo(_csv(cells))
        else:
            table.add(cells or ["deleted"])
    if how == "table":
        table.end()


class _Table:
    """Prints rows under their columns.

    Args:
        is_whole: whether to print all rows at the end, with widths that fit all. Otherwise each row is printed at
            once, and a wider row widens its column from there on.
    """

    def __init__(self, columns: Sequence[str], *, is_whole: bool) -> None:
        self._columns = columns
        self._is_whole = is_whole
        self._waiting: list[list[str]] = []
        self._widths: list[int] = []

    def add(self, cells: list[str]) -> None:
        """Add a row, and print it at once unless the table is printed as a whole."""
        self._waiting.append(cells)
        if not self._is_whole:
            self._print()

    def end(self) -> None:
        """Print the remaining rows, or that there were none."""
        if self._waiting:
            self._print()
        if not self._widths:
            click.echo("no rows")

    def _print(self) -> None:
        is_first = not self._widths
        room = shutil.get_terminal_size().columns
        self._widths = widths_of(self._columns, self._waiting, room, self._widths)
        if is_first:
            click.echo(_line(self._columns, self._widths))
            click.echo("-+-".join("-" * width for width in self._widths))
        for cells in self._waiting:
            click.echo(_line(cells, self._widths))
        self._waiting.clear()


def widths_of(columns: Sequence[str], rows: Sequence[Sequence[str]], room: int, least: Sequence[int] = ()) -> list[int]:
    """Return the columns' widths: as wide as their cells, but in total at most `room`. A single column is never cut.

    Args:
        rows: cells in the order of the columns.
        least: minimum widths, from the rows printed before.
    """
    widths = [
        max(len(name), *(len(row[at]) for row in rows if at < len(row)), *least[at : at + 1], 8)
        for at, name in enumerate(columns)
    ]
    spare = room - 3 * (len(columns) - 1)
    # Narrow the widest column first, so that short ones stay readable.
    while len(widths) > 1 and sum(widths) > max(spare, 4 * len(widths)):
        widths[widths.index(max(widths))] -= 1
    return widths


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return " | ".join(_cut(cell, width) for cell, width in zip(cells, widths, strict=False)).rstrip()


def _cut(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list | bool) else str(value)


def _csv(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()
