"""`POST /sql`: SELECT over a job's stores and topics; SHOW, DESCRIBE, EXPLAIN."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from forebay.builder.keys import Windowed
from forebay.codec import DecodeError, EncodeError, Unavailable
from forebay.http.messages import Answer, Request, json_answer
from forebay.queries import parameters
from forebay.queries.describe_extended import Lag, describe_extended
from forebay.queries.entries import Entry
from forebay.queries.events import SILENCE, written
from forebay.queries.parts.asking import AllParts, missing_header
from forebay.queries.parts.stores import PartedStores, PartsMissing
from forebay.queries.printing import print_rows
from forebay.queries.push import Tail
from forebay.queries.reads import Bounds, WrongQuery
from forebay.queries.sql_pushes import Transients, Watch, head, push_rows
from forebay.queries.sql_requests import Asked, read
from forebay.queries.stores import JobStores, UnknownStore
from forebay.queries.topic_scans import scan
from forebay.sql.describing import describe
from forebay.sql.encodings.json_bytes import encode_json
from forebay.sql.errors import SqlError
from forebay.sql.inserting import Inserted, record_of
from forebay.sql.limits import LimitReached
from forebay.sql.printing import Print
from forebay.sql.queryable import Queryable
from forebay.sql.readable import Readable
from forebay.sql.reading import HIGHEST, LOWEST, Reading, reading_of
from forebay.sql.syntax import Command, InsertValues, Query, Select
from forebay.sql.transient import needs_topology, transient_of
from forebay.time.base import Window

LONGEST_SECONDS = 10
"""Maximum duration of a pull query, in seconds."""
ANSWER_BYTES = 32 << 20
"""Maximum size of the rows of a pull query's response, in bytes."""
SCANS = "ksql.query.pull.table.scan.enabled"
"""The setting that disables pull queries without a key."""
RANGE_SCANS = "ksql.query.pull.range.scan.enabled"
"""The setting that also disables pull queries of a range of keys."""
LIMITS = "ksql.query.pull.limit.clause.enabled"
"""The setting that disables pull queries with LIMIT."""
SCANNED = 10_000
"""Maximum rows that a pull query without a key reads from a store."""


class SqlPages:
    """Answers the requests of `POST /sql`.

    Args:
        queryable: the streams and tables of the running job.
        stores: returns the job's current stores.
        tail: reads a topic.
        parts: the stores of all parts, if `stores` are those of one part.
        send: sends records of INSERT INTO ... VALUES; None: they are refused.
        follow: reads the topic of a PRINT; None: PRINT is refused.
        lag: returns the job's lag by topic; None: DESCRIBE ... EXTENDED shows the same as DESCRIBE.
        watch: reads several topics; None: push queries of joins and groups are refused.
    """

    def __init__(
        self,
        queryable: Queryable,
        stores: Callable[[], JobStores],
        tail: Callable[..., Tail],
        parts: AllParts | None = None,
        send: Callable[[Sequence[Inserted]], None] | None = None,
        follow: Callable[[Print], Tail] | None = None,
        lag: Lag | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._transients = None if watch is None else Transients(watch)
        self._follow = follow
        self._lag = lag
        self._send = send
        self._parts = parts
        self._queryable = queryable
        self._stores = stores
        self._tail = tail
        program = queryable.program()
        self._catalog = program.catalog
        self._may_scan, self._may_range, self._may_limit = (
            program.settings.get(name, "true").lower() != "false" for name in (SCANS, RANGE_SCANS, LIMITS)
        )

    def answer(self, request: Request) -> Answer:
        """Return the response to a request. An error in it is returned as `{"error": ...}` with line and column."""
        if request.method != "POST":
            return _error(405, 'send the statement with POST, as text or as JSON: {"sql": "SELECT ..."}')
        try:
            asked = read(request, lower=self._queryable.lower)
            match asked.statement:
                case Select(query):
                    if query.emit:
                        return _lines(self._push(query, asked), asked)
                    rows, missing = self._pull(reading_of(query, self._catalog), asked)
                    return _lines(rows, asked, missing)
                case InsertValues() as inserted:
                    return _lines(self._insert(inserted), asked)
                case Command() as command:
                    return _lines(self._show(command), asked)
            raise SqlError(
                asked.statement.place,
                "this job's statements are in files: change the files and restart the job. For an engine that takes "
                "statements, run `forebay sql --live NAME`",
            )
        except (RecursionError, MemoryError, SyntaxError):  # Python's own limits of what it reads and compiles
            return _error(400, "the statement is nested too deeply: split it")
        except (SqlError, WrongQuery, LimitReached, EncodeError, ValueError) as error:
            return _error(400, str(error))
        except UnknownStore as error:
            return _error(404, str(error.args[0]))
        except PartsMissing as error:
            return _error(503, str(error), error.missing)
        except (Unavailable, DecodeError) as error:
            return _error(503, str(error))

    def _show(self, command: Command) -> Iterator[dict[str, Any] | None]:
        """Return the lines of SHOW, DESCRIBE, EXPLAIN or PRINT. Raises SqlError, Unavailable."""
        if isinstance(command, Print) and self._follow is not None:
            return print_rows(self._follow(command), command)
        if command.verb == "DESCRIBE" and command.is_extended and self._lag is not None:
            return iter([*describe_extended(self._queryable.program(), command, self._lag)])
        return describe(self._queryable.program(), command)

    def _pull(self, reading: Reading, asked: Asked) -> tuple[Iterator[dict[str, Any]], tuple[int, ...]]:
        """Return the current rows of a table, and the missing parts.

        All rows are read before the response begins, so that an error can set its status.
        """
        if reading.keys is None and not self._may_scan and not (reading.is_range and self._may_range):
            raise SqlError(asked.statement.place, f"{SCANS} is false: name keys with = or IN, or set it to true")
        if reading.limit is not None and not self._may_limit:
            raise SqlError(asked.statement.place, f"{LIMITS} is false: leave LIMIT out, or set it to true")
        readable = self._queryable.tables.get(reading.source.name)
        if readable is None and self._queryable.lower:
            raise SqlError(
                asked.statement.place,
                f"{reading.source.name} is not a view: follow it with EMIT CHANGES, or query a MATERIALIZED VIEW of it",
            )
        if readable is None:
            return self._read_topic(reading, asked), ()
        local, began = self._stores(), time.monotonic()
        stores = local if self._parts is None else self._parts.stores(local, asked.caller)
        wanted = parameters.read_reached({"at_least": asked.at_least})
        stores.wait_for(readable.store, wanted, asked.wait_ms / 1000)
        entries, batches, more = _entries(stores, readable, reading)
        deadline = began + asked.wait_ms / 1000 + LONGEST_SECONDS

        def read_rows() -> Iterator[tuple[Any, ...]]:
            for entry in entries:
                if time.monotonic() > deadline:
                    raise WrongQuery(
                        f"the query took longer than {LONGEST_SECONDS} s: name keys, add LIMIT, "
                        "or compute it in a TABLE"
                    )
                row = _row(readable, reading, entry)
                if row is not None:
                    yield row

        rows, is_cut = _within_limits(reading, read_rows())
        end: dict[str, Any] = {
            "rows": len(rows), "more": more or is_cut, "batches": batches, **stores.ages(readable.store)
        }  # fmt: skip
        missing = stores.missing if isinstance(stores, PartedStores) else ()
        end |= {"missing": missing} if missing else {}
        return iter([head(reading.columns), *rows, {"end": end}]), missing

    def _read_topic(self, reading: Reading, asked: Asked) -> Iterator[dict[str, Any]]:
        """Return the rows of a topic that no query of this job stores as a table."""
        rows, more = _within_limits(reading, scan(reading.source, reading, self._tail, asked.statement.place))
        return iter([head(reading.columns), *rows, {"end": {"rows": len(rows), "more": more}}])

    def _insert(self, statement: InsertValues) -> Iterator[dict[str, Any]]:
        """Send a record to its topic, and return the response lines. Raises SqlError, EncodeError, Unavailable."""
        if self._send is None:
            raise SqlError(
                statement.place,
                "this server can't insert rows: INSERT INTO ... VALUES needs a job whose SQL files declare the target",
            )
        record = record_of(statement, self._catalog)
        self._send([record])
        columns = [{"name": "topic"}, {"name": "records"}]
        return iter([{"columns": columns}, {"row": {"topic": record.topic, "records": 1}}, {"end": {"rows": 1}}])

    def _push(self, query: Query, asked: Asked) -> Iterator[dict[str, Any] | None]:
        """Return the rows of a push query. Raises SqlError, Unavailable."""
        if needs_topology(query) and self._transients is not None and not self._queryable.lower:
            return self._transients.push(transient_of(query, self._queryable.program()), asked.from_beginning)
        reading = reading_of(query, self._catalog)
        if query.emit == "FINAL":
            raise SqlError(
                query.place, "EMIT FINAL returns the last result of each window: add a WINDOW, or write EMIT CHANGES"
            )
        return push_rows(reading, self._tail(reading.source, asked.from_beginning))


def check_size(size: int) -> None:
    """Raise WrongQuery if a response has too many bytes."""
    if size > ANSWER_BYTES:
        raise WrongQuery(
            f"the answer is larger than {ANSWER_BYTES} bytes (limit ANSWER_BYTES): name keys, select fewer columns, "
            "or add LIMIT"
        )


def _entries(
    stores: JobStores | PartedStores, readable: Readable, reading: Reading
) -> tuple[list[Entry], dict[int, int], bool]:
    store, (low, high) = readable.store, reading.starts or (LOWEST, HIGHEST)
    bounds = Bounds(time_from=None if low == LOWEST else low, time_to=None if high == HIGHEST else high)
    if reading.as_of is not None:
        bounds, store = Bounds(as_of=reading.as_of), readable.history
        if reading.keys is None:
            raise WrongQuery("FOR SYSTEM_TIME AS OF needs the keys: add WHERE key = ... or key IN (...)")
    if reading.keys is None:
        page = stores.scan(store, bounds, SCANNED)
        return page.entries, page.batches, page.more
    entries: list[Entry] = []
    batches: dict[int, int] = {}
    more = False
    for key in reading.keys:
        page = stores.get(store, readable.row(key), bounds, SCANNED)
        entries += page.entries
        batches |= page.batches
        more = more or page.more
    return entries, batches, more


def _row(readable: Readable, reading: Reading, entry: Entry) -> tuple[Any, ...] | None:
    key = readable.of_row(entry.key)
    if entry.start is not None and entry.end is not None:
        key = Windowed(key, Window(entry.start, entry.end))
    timestamp = entry.timestamp if entry.timestamp is not None else entry.end or 0
    value = entry.value if reading.as_of is not None else readable.make_row(key, entry.value, timestamp)
    return None if value is None else reading.row(key, value, timestamp, None)


def _within_limits(reading: Reading, rows: Iterable[tuple[Any, ...]]) -> tuple[list[dict[str, Any]], bool]:
    """Return the response lines of rows, up to the query's LIMIT, and whether there are more. Raises WrongQuery."""
    lines: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        if reading.limit is not None and len(lines) >= reading.limit:
            return lines, True
        shown = reading.json_row(row)
        size += len(encode_json(shown))
        check_size(size)
        lines.append({"row": shown})
    return lines, False


def _lines(found: Iterator[dict[str, Any] | None], asked: Asked, missing: tuple[int, ...] = ()) -> Answer:
    def pieces() -> Iterator[bytes]:
        for row in found:
            if not asked.as_events:
                yield b"\n" if row is None else encode_json(row) + b"\n"
            elif row is None:
                yield SILENCE
            else:
                name = next(iter(row))
                yield written(name, encode_json(row[name]))

    return Answer(
        200, "text/event-stream" if asked.as_events else "application/x-ndjson", pieces(), missing_header(missing)
    )


def _error(status: int, text: str, missing: tuple[int, ...] = ()) -> Answer:
    content = {"error": text, **({"missing": missing} if missing else {})}
    return json_answer(status, content, missing_header(missing))
