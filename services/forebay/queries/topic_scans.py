"""Pull queries over a topic up to its end: the rows of a stream, or the newest row of each key of a table."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from forebay.builder.keys import Windowed
from forebay.queries.push import Tail
from forebay.queries.reads import WrongQuery
from forebay.sql.catalog import Source
from forebay.sql.errors import Place, SqlError
from forebay.sql.reading import Reading

READ_RECORDS = 1_000_000
"""Maximum records of a topic that a pull query reads."""
READ_SECONDS = 10
"""Maximum time that a pull query reads a topic, in seconds."""
_ORDERED = (str, int, float, bytes)
TABLE_ROWS = 100_000
"""Maximum rows of a table that a pull query holds."""
_ADVICE = "add LIMIT, query a TABLE ... AS SELECT of it, or follow it with EMIT CHANGES"


def scan(source: Source, reading: Reading, tail: Callable[..., Tail], place: Place) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a topic that a query selects. Raises SqlError, WrongQuery, Unavailable.

    Args:
        tail: reads a topic from its beginning to its end.
        place: position of the query in its text, for errors.
    """
    if source.is_table and not source.is_read_only:
        raise SqlError(
            place,
            f"{source.name} is a table that no query of this job stores: declare it with "
            "CREATE SOURCE TABLE, follow it with EMIT CHANGES, or query a TABLE ... AS SELECT "
            "of it",
        )
    records = tail(source, True, True)
    try:
        if source.is_table:
            yield from _newest(reading, _limit_records(records, source))
        else:
            for key, value, timestamp, origin in _limit_records(records, source):
                is_row = value is not None and _is_wanted(reading, key)
                row = reading.row(key, value, timestamp, origin) if is_row else None
                if row is not None:
                    yield row
    finally:
        records.close()


def _newest(reading: Reading, records: Iterator[Any]) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of the newest record of each key."""
    newest: dict[Any, Any] = {}
    for record in records:
        key, value = record[0], record[1]
        if key is None or not _is_wanted(reading, key):
            continue
        newest[key] = record
        if value is None:
            del newest[key]
        if len(newest) > TABLE_ROWS:
            raise WrongQuery(f"the table has more than {TABLE_ROWS} rows (TABLE_ROWS): name keys, {_ADVICE}")
    # ksqlDB returns rows in the order of its store, like the stores of queries here.
    for key, value, timestamp, origin in sorted(newest.values(), key=lambda record: _order_of(record[0])):
        row = reading.row(key, value, timestamp, origin)
        if row is not None:
            yield row


def _order_of(key: Any) -> tuple[Any, ...]:
    """Return the sort key of a key. Null comes first."""
    window = tuple(key.window) if isinstance(key, Windowed) else ()
    plain = key.key if isinstance(key, Windowed) else key
    return (*((part is not None, part if isinstance(part, _ORDERED) else repr(part)) for part in plain), *window)


def _is_wanted(reading: Reading, key: Any) -> bool:
    plain = key.key if isinstance(key, Windowed) else key
    return reading.keys is None or plain in reading.keys


def _limit_records(records: Tail, source: Source) -> Iterator[Any]:
    """Yield records until the end, or raise WrongQuery when a limit is reached."""
    until = time.monotonic() + READ_SECONDS
    count = 0
    for record in records:
        if time.monotonic() > until:
            raise WrongQuery(f"{source.topic} takes more than {READ_SECONDS} s to read (READ_SECONDS): {_ADVICE}")
        if record is None:
            continue
        count += 1
        if count > READ_RECORDS:
            raise WrongQuery(f"{source.topic} has more than {READ_RECORDS} records (READ_RECORDS): {_ADVICE}")
        yield record
