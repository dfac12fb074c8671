"""A DB-API 2.0 driver (PEP 249) for `POST /sql`, to query a job's stores and topics from Python and its tools.

The server is `forebay queries`, `forebay sql --serve` or `forebay sql --live`. There are no transactions: each
statement takes effect when it is answered.
"""

from __future__ import annotations

import json
import ssl
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from http.client import HTTPException
from types import TracebackType
from typing import Any, Self
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from forebay.dbapi.literals import OutOfRange, WrongParameter, bind, has_limit

apilevel = "2.0"
threadsafety = 1
paramstyle = "qmark"

Row = tuple[Any, ...]
Description = tuple[tuple[str, str | None, None, None, None, None, None], ...]

_REFUSALS = range(400, 500)
_LOGIN = (401, 403)
_OTHER_SERVER = "the server does not answer like a query server: check the URL that connect was called with"


class Warning(UserWarning):
    """The result of a statement differs from what one may expect of it."""


class Error(Exception):
    """Any error of this module."""


class InterfaceError(Error):
    """The driver is used incorrectly, such as a closed cursor."""


class DatabaseError(Error):
    """The server returned an error."""


class OperationalError(DatabaseError):
    """The server can't be reached, can't answer at present, or refuses the token."""


class ProgrammingError(DatabaseError):
    """The statement or its parameters are wrong."""


class NotSupportedError(DatabaseError):
    """The operation is not supported, such as a rollback."""


class DataError(DatabaseError):
    """A parameter is a number that no column can contain."""


class IntegrityError(DatabaseError):
    """Required by PEP 249. It is never raised, because stores have no constraints."""


class InternalError(DatabaseError):
    """Required by PEP 249. The server reports such errors in its responses."""


def connect(
    url: str = "http://127.0.0.1:7070", token: str = "", timeout: float = 120.0, context: ssl.SSLContext | None = None
) -> Connection:
    """Return a connection to a server. It sends nothing before the first statement.

    Args:
        token: the server's token (--token-file); "" for none.
        timeout: maximum seconds without a byte of a response.
        context: TLS context for https; None: the system's certificates.

    Raises:
        InterfaceError: the URL is invalid, or the token has characters that a header can't contain.
    """
    if not url.startswith(("http://", "https://")):
        raise InterfaceError(f"{url!r} is not the URL of a server: write http://HOST:PORT or https://HOST:PORT")
    if not all("!" <= letter <= "~" for letter in token):
        raise InterfaceError("a token is one word of ASCII: strip the line end if you read it from a file")
    return Connection(url, token, timeout, context)


class Connection:
    """A connection to a server. It contains the URL, token and timeout, but no open socket."""

    def __init__(self, url: str, token: str, timeout: float, context: ssl.SSLContext | None) -> None:
        self._url = f"{url.rstrip('/')}/sql"
        self._headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        self._timeout = timeout
        self._context = context
        self._is_closed = False

    def cursor(self) -> Cursor:
        """Return a cursor. Raises InterfaceError if the connection is closed."""
        self._require_open()
        return Cursor(self)

    def commit(self) -> None:
        """Do nothing, because each statement has taken effect already."""
        self._require_open()

    def rollback(self) -> None:
        """Raise NotSupportedError, because there are no transactions."""
        raise NotSupportedError("rollback is not supported: each statement takes effect when it is executed")

    def close(self) -> None:
        """Refuse further statements."""
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, sql: str) -> Any:
        """Send a statement. Return the open response. Raises InterfaceError, OperationalError, ProgrammingError."""
        self._require_open()
        request = Request(self._url, json.dumps({"sql": sql}).encode(), self._headers)
        try:
            return urlopen(request, timeout=self._timeout, context=self._context)
        except HTTPError as error:
            with error:
                reason = _reason_of(error)
            is_wrong = error.code in _REFUSALS and error.code not in _LOGIN
            raise (ProgrammingError if is_wrong else OperationalError)(reason) from error
        except (OSError, HTTPException, ValueError) as error:
            refusal = error.reason if isinstance(error, URLError) else error
            raise OperationalError(f"{self._url} can't be reached: {refusal}") from error

    def _require_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the connection is closed: call connect again")


class Cursor:
    """Sends statements, and reads the rows of a response as they arrive.

    A push query (EMIT CHANGES) without LIMIT never ends: read it with `fetchone` or as an iterator. Deletes of keys in
    its response are left out.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.description: Description | None = None
        self.rowcount = -1
        self._answer: Any = None
        self._lines: Iterator[dict[str, Any]] = iter(())
        self._sql = ""
        self._is_closed = False

    def execute(self, operation: str, parameters: Sequence[Any] = ()) -> Cursor:
        """Send a statement, with a value for each `?` in it, and return this cursor.

        Raises:
            ProgrammingError: the statement or its parameters are wrong. DataError, OperationalError, InterfaceError.
        """
        self._require_open()
        self._end()
        self.description = None
        try:
            self._sql = bind(operation, parameters)
        except OutOfRange as error:
            raise DataError(str(error)) from error
        except WrongParameter as error:
            raise ProgrammingError(str(error)) from error
        self._answer = self.connection.send(self._sql)
        self._lines = self._read()
        try:
            columns = next(self._lines)["columns"]
            self.description = tuple((item["name"], item.get("type"), None, None, None, None, None) for item in columns)
        except (KeyError, TypeError) as error:
            raise InterfaceError(_OTHER_SERVER) from error
        return self

    def executemany(self, operation: str, seq_of_parameters: Sequence[Sequence[Any]]) -> Cursor:
        """Send a statement for each sequence of parameters. Raises as `execute`; earlier statements stay in effect."""
        for parameters in seq_of_parameters:
            self.execute(operation, parameters).fetchall()
        return self

    def fetchone(self) -> Row | None:
        """Return the next row; None after the last one. Raises DatabaseError if the response ends with an error."""
        self._require_open()
        if self.description is None:
            raise InterfaceError("there is no result: call execute first")
        for line in self._lines:
            if "row" in line:
                row = line["row"]
                return tuple(_value(row.get(name), kind or "") for name, kind, *_ in self.description)
            if line.get("end", {}).get("more") and not has_limit(self._sql):
                warnings.warn(
                    "the server did not send all rows: name keys, or select fewer rows", Warning, stacklevel=2
                )
        self._end()
        return None

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Return at most `size` of the next rows (default: `arraysize`). Raises as `fetchone`."""
        rows: list[Row] = []
        while len(rows) < (self.arraysize if size is None else size) and (row := self.fetchone()) is not None:
            rows.append(row)
        return rows

    def fetchall(self) -> list[Row]:
        """Return all remaining rows. Raises as `fetchone`."""
        return list(self)

    def __iter__(self) -> Iterator[Row]:
        while (row := self.fetchone()) is not None:
            yield row

    def close(self) -> None:
        """Close the response, which stops a push query."""
        self._end()
        self._is_closed = True

    def setinputsizes(self, sizes: Sequence[Any]) -> None:
        """Do nothing, because parameters need no memory in advance."""

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Do nothing, because columns have the size of their values."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _read(self) -> Iterator[dict[str, Any]]:
        is_whole = False
        try:
            for text in self._answer:
                if text.strip():
                    line: dict[str, Any] = json.loads(text, parse_float=Decimal)
                    if not isinstance(line, dict):
                        raise InterfaceError(_OTHER_SERVER)
                    if "error" in line:
                        raise DatabaseError(str(line["error"]))
                    is_whole |= "end" in line
                    yield line
        except (OSError, HTTPException) as error:
            raise OperationalError(f"the answer was cut off: {error}") from error
        except ValueError as error:  # half of a line, or another server
            raise OperationalError(f"a line of the answer is not JSON: {error}: run it again") from error
        if not is_whole:
            raise OperationalError("the response ended too early: run the statement again")

    def _end(self) -> None:
        answer, self._answer, self._lines = self._answer, None, iter(())
        if answer is not None:
            answer.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise InterfaceError("the cursor is closed: create another one with connection.cursor()")


def _value(value: Any, kind: str) -> Any:
    """Return the value of a column: numbers with a fraction are Decimal in DECIMAL columns, else float."""
    if kind.startswith("DECIMAL"):
        return Decimal(str(value)) if value is not None else None
    return _without_decimals(value)


def _without_decimals(value: Any) -> Any:
    match value:
        case Decimal():
            return float(value)
        case list():
            return [_without_decimals(item) for item in value]
        case dict():
            return {name: _without_decimals(item) for name, item in value.items()}
    return value


def _reason_of(error: HTTPError) -> str:
    try:
        text = error.read().decode(errors="replace")
    except (OSError, HTTPException):  # cut off
        text = ""
    try:
        return str(json.loads(text)["error"])
    except (ValueError, KeyError, TypeError):
        return f"HTTP {error.code}: {text[:200]}"
