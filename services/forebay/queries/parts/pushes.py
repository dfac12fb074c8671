"""A push query that merges the events of all parts, and keeps the order of each task."""

from __future__ import annotations

import heapq
import json
import logging
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from forebay.queries.events import FOLLOWING, SILENCE, event, events, written
from forebay.queries.parts.peer import Stream

log = logging.getLogger(__name__)

_HELD = 1_000
"""Maximum events of a part that wait to be sent. The part's server holds later ones, and ends the push if too many."""
_ROWS_AT_ONCE = 200
_LOST = "lost"

Event = tuple[str, bytes]


class _Source(threading.Thread):
    """Reads one part's events: its rows into its own queue, then its changes into the common queue of all parts."""

    def __init__(
        self,
        part: int,
        pieces: Iterable[bytes],
        changes: queue.Queue[tuple[int, Event]],
        has_rows: bool,
        is_over: threading.Event,
    ) -> None:
        super().__init__(name=f"push-of-part-{part}", daemon=True)
        self.part = part
        self._pieces = pieces
        self._rows: queue.Queue[tuple[int, Event]] = queue.Queue(_HELD)
        self._changes = changes
        self._has_rows = has_rows
        self._is_over = is_over
        self.begun = threading.Event()
        """Set when the part sends its changes, so that none is missed from then on, or when the part is lost."""

    def run(self) -> None:
        held = self._rows if self._has_rows else self._changes
        try:
            for event in events(self._pieces):
                self.begun.set()
                if event[0] and not self._put(held, event):
                    return
                if event[0] == "now":
                    held = self._changes
        except Exception as error:  # any failure must reach the follower, which would take it for silence
            if not self._is_over.is_set():
                log.warning("part %d no longer sends changes to a push query: %s", self.part, error)
        self._put(held, (_LOST, b""))
        self.begun.set()

    def rows(self, ended: Callable[[int, Event], None]) -> Iterator[tuple[int, bytes]]:
        """Yield task and data of the rows. `ended` is called with an event that arrives before the last row."""
        while True:
            _, event = self._rows.get()
            match event[0]:
                case "row":
                    yield json.loads(event[1])["task"], event[1]
                case "now":
                    return
                case _:
                    ended(self.part, event)
                    return

    def _put(self, held: queue.Queue[tuple[int, Event]], found: Event) -> bool:
        while not self._is_over.is_set():
            try:
                held.put((self.part, found), timeout=0.5)
            except queue.Full:
                continue
            return True
        return False


class MergedPush:
    """One push query that consists of those of several parts.

    Args:
        streams: streams of the other parts, by part.
        local: this part's own events; empty if its stores can't be read yet.
        missing: parts that do not answer.
        snapshot: whether rows come first.
        takes_partial: whether it continues without parts that are lost.
        end: ends the local push query.
    """

    def __init__(
        self,
        streams: Mapping[int, Stream],
        local: Mapping[int, Iterator[bytes]],
        missing: Iterable[int],
        snapshot: bool,
        takes_partial: bool,
        end: Callable[[], None],
    ) -> None:
        self._streams = streams
        self._snapshot = snapshot
        self._local_end = end
        self._missing = set(missing)
        self._takes_partial = takes_partial
        self._is_over = threading.Event()
        self._changes: queue.Queue[tuple[int, Event]] = queue.Queue(_HELD)
        self._end = b""
        self._told = [self._lost()] if self._missing else []
        all_pieces: dict[int, Iterable[bytes]] = {**streams, **local}
        self._sources = [
            _Source(part, all_pieces[part], self._changes, snapshot, self._is_over) for part in sorted(all_pieces)
        ]
        self._left = {source.part for source in self._sources}

    def pieces(self, silent_seconds: float) -> Iterator[bytes]:
        """Yield the response's chunks until the push query ends, and then end those of the parts."""
        try:
            for source in self._sources:
                source.start()
            for source in self._sources:
                # Send nothing before every part sends its changes. Otherwise changes in between would be missed.
                source.begun.wait()
            yield from self._rows() if self._snapshot else (FOLLOWING,)
            while not self._end:
                yield self._next(silent_seconds)
            yield self._end
        finally:
            self._is_over.set()
            self._local_end()
            for stream in self._streams.values():
                stream.end()

    def _rows(self) -> Iterator[bytes]:
        """Yield the rows in the order of tasks, like a server that holds all tasks."""
        rows = heapq.merge(*(source.rows(self._on_end) for source in self._sources), key=lambda row: row[0])
        count = 0
        while several := list(islice(rows, _ROWS_AT_ONCE)):
            count += len(several)
            yield b"".join(written("row", data) for _, data in several)
        if not self._end:
            yield event("now", {"rows": count})

    def _next(self, silent_seconds: float) -> bytes:
        """Return the next events; a comment if none arrive in time."""
        pieces, self._told = self._told, []
        try:
            part, event = self._changes.get(timeout=0 if pieces else silent_seconds)
            while True:
                if event[0] != "change":
                    self._on_end(part, event)
                    break
                pieces.append(written(*event))
                if len(pieces) >= _HELD:
                    break
                part, event = self._changes.get_nowait()
        except queue.Empty:
            pass
        return b"".join(pieces) or SILENCE

    def _on_end(self, part: int, found: Event) -> None:
        """Record that a part's push query ended, with a reason or because the part is lost."""
        self._left.discard(part)
        if found[0] == "end":
            self._end = event("end", {**json.loads(found[1]), "part": part})
            return
        self._missing.add(part)
        if self._takes_partial and self._left:
            self._told.append(self._lost())
        else:
            self._end = event("end", {"reason": "part lost", "missing": sorted(self._missing)})

    def _lost(self) -> bytes:
        return event("missing", {"missing": sorted(self._missing)})
