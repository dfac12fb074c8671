"""Cases of aggregates in tumbling, hopping and session windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from conformance.cases import BadCase, Difference, fields
from conformance.compare import Emits, identity
from conformance.functions import aggregate
from conformance.script import Stores
from conformance.topology import Topology
from forebay.operators.results import Emission, WindowResult
from forebay.operators.session import SessionAggregate
from forebay.operators.suppress import Suppress, UntilWindowCloses
from forebay.operators.window import WindowAggregate
from forebay.stores.buffers import SuppressBuffer, Suppressed
from forebay.stores.session import SessionStore
from forebay.stores.window import WindowStore
from forebay.testing.cell import Cell, Json, cell, plain
from forebay.time.base import Window
from forebay.time.sessions import SessionWindows
from forebay.time.windows import TimeWindows

_EMITS = {"update": Emission.UPDATES, "final": Emission.FINAL, "suppress_until_window_closes": Emission.UPDATES}
# Cases compare the live sessions at the end, so no session may expire before that.
_KEPT_FOR_GOOD = 1 << 60


class WindowedTopology(Topology):
    """A windowed aggregate, followed by a suppression if the case specifies it."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(case, stores)
        spec = self.spec
        bounds = {"gap_ms"} if spec.get("window") == "session" else {"size_ms"}
        fields("topology", spec, {"op", "window", "source", "grace_ms", "aggregate", "emit", *bounds}, {"advance_ms"})
        if spec["emit"] not in _EMITS:
            raise BadCase(f"unknown emit {spec['emit']!r}")
        self.dropped = 0
        self._sessions: SessionStore[Cell] | None = None
        self.windows: SessionWindows | TimeWindows
        self._aggregate = self._session_aggregate() if spec["window"] == "session" else self._window_aggregate()
        self._suppress: Suppress[Cell] | None = None
        if spec["emit"] == "suppress_until_window_closes":
            buffer = stores.open(SuppressBuffer("suppress", Cell))
            self._suppress = Suppress(buffer, UntilWindowCloses(self.windows))

    def topics(self) -> set[str]:
        return {self.spec["source"]}

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        if key is None:
            self.dropped += 1
            return []
        self.stream_time = max(self.stream_time, ts)
        outcome = self._aggregate.process(key, cell(value), ts, self.stream_time)
        self.dropped += outcome.refused
        if self._suppress is None:
            return self._show(outcome.results)
        released: list[Suppressed[Cell]] = []
        for result in outcome.results:
            update = (result.key, result.window, result.value, result.timestamp)
            released += self._suppress.process(*update, self.stream_time)
        return self._show(WindowResult(r.key, r.window or Window(-1, -1), r.value, r.timestamp) for r in released)

    def facts(self) -> dict[str, Callable[[], Json]]:
        if self._sessions is None:
            return {"dropped_window_updates": lambda: self.dropped}
        return {"dropped_records": lambda: self.dropped, "live_sessions": self._live}

    def memory(self) -> dict[str, Json]:
        return {**super().memory(), "dropped": self.dropped}

    def remember(self, memory: dict[str, Json]) -> None:
        super().remember(memory)
        self.dropped = memory["dropped"]

    def settle(self, expected: Emits, got: Emits, facts: dict[str, Json]) -> tuple[Emits, Emits, list[Difference]]:
        """Remove sessions that Kafka Streams emits at exactly end + gap + grace, which is one ms before they close.

        Forebay must emit them once, with the last value of Kafka Streams, when time has passed this moment.
        """
        # Only a suppress of sessions differs from upstream, which closes them one ms early.
        if self._suppress is None or not isinstance(self.windows, SessionWindows):
            return expected, got, []
        if len(expected) != len(got):
            return expected, got, []
        early: dict[str, Json] = {}
        expected_emits: Emits = []
        now = -1
        for emitted, record in zip(expected, self.input, strict=True):
            now = now if record["key"] is None else max(now, record["ts"])
            at_bound = [r for r in emitted if self.windows.open_from(now) == r["end"]]
            early |= {identity(r): r for r in at_bound}
            expected_emits.append([r for r in emitted if r not in at_bound])
        if not early:
            return expected, got, []
        late = [r for emitted in got for r in emitted if identity(r) in early]
        mine = [[r for r in emitted if identity(r) not in early] for emitted in got]
        closed = self.windows.open_from(now)
        live = {identity(r) for r in facts["live_sessions"]}
        due = [r for ident, r in early.items() if r["end"] < closed and ident in live]
        differs = [] if late == due else [Difference("sessions at the bound", due, late)]
        return expected_emits, mine, differs

    def _window_aggregate(self) -> WindowAggregate[Cell, Cell]:
        size = self.spec["size_ms"]
        advance = self.spec.get("advance_ms", size)
        if self.spec["window"] not in ("tumbling", "hopping") or (
            self.spec["window"] == "tumbling" and advance != size
        ):
            raise BadCase(f"unknown window {self.spec['window']!r} with advance_ms {advance}")
        self.windows = windows = TimeWindows(size, advance, self.spec["grace_ms"])
        store = WindowStore("aggregate", Cell, size_ms=size, retention_ms=windows.retention_ms)
        fold = aggregate(self.spec["aggregate"])
        return WindowAggregate(
            self.stores.open(store),
            windows,
            lambda: cell(fold.initial),
            lambda _, value, total: cell(fold.add(plain(total), plain(value))),
            emission=_EMITS[self.spec["emit"]],
        )

    def _session_aggregate(self) -> SessionAggregate[Cell, Cell]:
        self.windows = SessionWindows(self.spec["gap_ms"], self.spec["grace_ms"])
        self._sessions = self.stores.open(SessionStore("aggregate", Cell, retention_ms=_KEPT_FOR_GOOD))
        fold = aggregate(self.spec["aggregate"])
        return SessionAggregate(
            self._sessions,
            self.windows,
            lambda: cell(fold.initial),
            lambda _, value, total: cell(fold.add(plain(total), plain(value))),
            lambda _, one, two: cell(fold.merge(plain(one), plain(two))),
            emission=_EMITS[self.spec["emit"]],
        )

    def _live(self) -> list[Json]:
        assert self._sessions is not None
        return [
            {"key": self.keys.decode(s.key), "start": s.start, "end": s.end, "value": plain(s.value)}
            for s in self._sessions.all()
        ]

    def _show(self, results: Iterable[WindowResult[Cell]]) -> list[Json]:
        return [
            {
                "key": self.keys.decode(r.key),
                "start": r.window.start,
                "end": r.window.end,
                "value": plain(r.value),
                "ts": r.timestamp,
            }
            for r in results
        ]
