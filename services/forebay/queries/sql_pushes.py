"""Push queries of `POST /sql`: rows of a topic, or rows that the query's own topology computes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

from forebay.builder.keys import Windowed
from forebay.codec import Unavailable
from forebay.processor.messages import Message
from forebay.queries.push import Tail
from forebay.queries.reads import WrongQuery
from forebay.queries.transient_run import ChangedRow, TransientRun
from forebay.sql.encodings.readers import writer
from forebay.sql.limits import LimitReached
from forebay.sql.reading import Reading
from forebay.sql.transient import Transient

MOST_TOPOLOGIES = 10
"""Maximum concurrent push queries with their own topology in a process."""
_PLACES = threading.Semaphore(MOST_TOPOLOGIES)
_SIGN_SECONDS = 2.0
Line = dict[str, Any]


class Batches(Protocol):
    """Records of several topics (implemented by MergedTopics); None for silence."""

    partitions: int

    def __iter__(self) -> Iterator[Sequence[Message] | None]: ...
    def close(self) -> None: ...


Watch = Callable[[Sequence[str], bool], Batches]
"""Reads topics, from their beginning if the second argument is true. Raises Unavailable."""


class _Signs:
    """Decides when a response without rows sends a sign of life.

    Only between two chunks of a response does the server notice a lost client or its own stop. So a query whose WHERE
    no record meets must send a chunk now and then, too.
    """

    def __init__(self) -> None:
        self._due = time.monotonic() + _SIGN_SECONDS

    @property
    def is_due(self) -> bool:
        """Whether a sign is due. If so, the next one is due after another interval."""
        now = time.monotonic()
        if now < self._due:
            return False
        self._due = now + _SIGN_SECONDS
        return True


def push_rows(reading: Reading, tail: Tail) -> Iterator[Line | None]:
    """Yield the lines of rows as they are written, each once, in the order of each key; for ever, or up to LIMIT."""
    try:
        yield head(reading.columns)
        count, signs = 0, _Signs()
        for record in tail:
            if record is None:
                yield None
                continue
            if signs.is_due:
                yield None
            if reading.limit is not None and count >= reading.limit:
                break
            key, value, timestamp, origin = record
            if reading.source.is_table and key is None:
                continue  # no row of a table
            if value is None:
                plain = key.key if isinstance(key, Windowed) else key
                if reading.keys is None or plain in reading.keys:
                    yield {"tombstone": _key_shown(reading, key)}
            elif (row := reading.row(key, value, timestamp, origin)) is not None:
                count += 1
                yield {"row": reading.json_row(row)}
            if reading.limit is not None and count >= reading.limit:
                break
        yield {"end": {"rows": count}}
    except (LimitReached, Unavailable) as error:  # the response has begun, so its status can't change
        yield {"error": str(error)}
    finally:
        tail.close()


class Transients:
    """Push queries with their own topology.

    Args:
        watch: reads the topics of their sources.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def push(self, query: Transient, from_beginning: bool) -> Iterator[Line | None]:
        """Return the lines of rows as they change; for ever, or up to LIMIT. Raises Unavailable.

        Closing the iterator drops the state of the query.
        """
        if not _PLACES.acquire(blocking=False):
            raise Unavailable(
                f"{MOST_TOPOLOGIES} push queries with joins or groups are running (limit MOST_TOPOLOGIES): end one, "
                "or compute it in a TABLE or STREAM ... AS SELECT"
            )
        try:
            batches = self._watch(tuple(query.job.inputs), from_beginning)
        except BaseException:
            _PLACES.release()
            raise
        return _Answer(query, batches, _PLACES.release)


class _Answer:
    """The lines of a response. Closing it closes its topics, even if no line was read."""

    def __init__(self, query: Transient, batches: Batches, release: Callable[[], None]) -> None:
        self._lines = _lines(query, batches)
        self._batches = batches
        self._release: Callable[[], None] | None = release

    def __iter__(self) -> Iterator[Line | None]:
        return self

    def __next__(self) -> Line | None:
        try:
            return next(self._lines)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Drop the query's state, and stop reading its topics."""
        release, self._release = self._release, None
        if release is not None:
            try:
                self._batches.close()
            finally:
                release()

    __del__ = close


def _lines(query: Transient, batches: Batches) -> Iterator[Line | None]:
    yield head(query.columns)
    run, count, signs = TransientRun(query.job, batches.partitions), 0, _Signs()
    try:
        for batch in batches if query.limit != 0 else ():
            if batch is None or signs.is_due:
                yield None
            if batch is None:
                continue
            for changed in run.process(batch):
                yield _line(query, changed)
                count += changed.value is not None
                if query.limit is not None and count >= query.limit:
                    yield {"end": {"rows": count}}
                    return
        yield {"end": {"rows": count}}
    except (LimitReached, WrongQuery, Unavailable) as error:  # the response has begun, so its status can't change
        yield {"error": str(error)}


def _line(query: Transient, changed: ChangedRow) -> Line:
    if changed.value is None:
        return {"tombstone": query.key_cells(changed.key)}
    cells = zip(query.columns, query.row(changed.key, changed.value), strict=True)
    return {"row": {column.name: writer(column.type)(cell) for column, cell in cells}}


def head(columns: Sequence[Any]) -> Line:
    """Return the first line of a response: the names and types of its columns."""
    return {"columns": [{"name": column.name, "type": str(column.type)} for column in columns]}


def _key_shown(reading: Reading, key: Any) -> dict[str, Any]:
    plain = key.key if isinstance(key, Windowed) else key
    shown = {named.name: value for named, value in zip(reading.source.keys, plain or (), strict=False)}
    if isinstance(key, Windowed):
        shown |= {"WINDOWSTART": key.window.start, "WINDOWEND": key.window.end}
    return shown
