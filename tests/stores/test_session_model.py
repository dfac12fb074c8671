"""On both backends, the session store behaves like a simple dict of sessions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forebay.stores.session import SessionEntry, SessionStore
from forebay.testing.bench import Backend, open_bench
from forebay.testing.cell import Cell
from tests.stores.driving import run

pytestmark = pytest.mark.long

KEYS = st.sampled_from(["a", "aa", "a\0", "a\0\1", "\uffff", "\U0001f600"])
ENDS = st.none() | KEYS
TIMES = st.integers(0, 100)
SPANS = st.tuples(TIMES, TIMES).map(lambda pair: (min(pair), max(pair)))
VALUES = st.none() | st.integers(0, 9).map(lambda n: Cell(str(n)))
PUTS = st.builds(lambda key, span, value: ("put", key, *span, value), KEYS, SPANS, VALUES)
OPERATIONS = st.one_of(
    PUTS,
    PUTS,
    st.builds(lambda key, span: ("remove", key, *span), KEYS, SPANS),
    st.builds(lambda key, span: ("fetch_session", key, *span), KEYS, SPANS),
    st.tuples(st.sampled_from(["find_sessions", "backward_find_sessions"]), KEYS, TIMES, TIMES),
    st.tuples(
        st.sampled_from(["find_sessions_key_range", "backward_find_sessions_key_range"]), ENDS, ENDS, TIMES, TIMES
    ),
    st.tuples(st.just("find_sessions_by_end"), TIMES, TIMES),
    st.tuples(st.sampled_from(["fetch_key_range", "backward_fetch_key_range"]), ENDS, ENDS),
    st.tuples(st.just("all")),
    st.tuples(st.just("commit")),
    st.builds(lambda put: ("undo", *put[1:]), PUTS),
)


class Model:
    """Sessions in a dict. Expired sessions are hidden, never deleted."""

    def __init__(self, retention: int) -> None:
        self.retention, self.latest = retention, -(10**9)
        self.sessions: dict[tuple[str, int, int], Cell] = {}

    def put(self, key: str, start: int, end: int, value: Cell | None) -> bool:
        self.latest = max(self.latest, end)
        if end <= self.latest - self.retention:
            return False
        self.remove(key, start, end)
        if value is not None:
            self.sessions[key, start, end] = value
        return True

    def remove(self, key: str, start: int, end: int) -> None:
        self.sessions.pop((key, start, end), None)

    def fetch_session(self, key: str, start: int, end: int) -> Cell | None:
        return self.sessions.get((key, start, end)) if end > self.latest - self.retention else None

    def read(self, key_from: str | None, key_to: str | None, earliest_end: int, latest_start: int) -> Any:
        results = [
            SessionEntry(key, start, end, value)
            for (key, start, end), value in self.sessions.items()
            if (key_from is None or key_from <= key)
            and (key_to is None or key <= key_to)
            and (end >= earliest_end and start <= latest_start and end > self.latest - self.retention)
        ]
        return sorted(results, key=lambda s: (s.end, s.start, s.key))

    def run(self, name: str, *arguments: Any) -> Any:
        if name in ("put", "remove", "fetch_session"):
            return getattr(self, name)(*arguments)
        kind = name.removeprefix("backward_")
        if kind == "find_sessions":
            result = self.read(arguments[0], *arguments)
        elif kind == "find_sessions_by_end":
            result = [s for s in self.read(None, None, arguments[0], 10**9) if s.end <= arguments[1]]
        elif kind == "find_sessions_key_range":
            result = self.read(*arguments)
        else:
            key_from, key_to = arguments or (None, None)
            result = self.read(key_from, key_to, -(10**9), 10**9)
        return result[::-1] if name.startswith("backward_") else result


@settings(deadline=None, max_examples=150)
@given(retention=st.sampled_from([1, 30, 500]), operations=st.lists(OPERATIONS, max_size=40))
def test_the_store_behaves_like_a_list_of_sessions(retention: int, operations: list[tuple[Any, ...]]) -> None:
    declared = SessionStore("sessions", Cell, retention_ms=retention)
    with open_bench(Backend.IN_MEMORY) as memory, open_bench(Backend.PERSISTENT) as disk:
        model, stores = Model(retention), [(memory.open(declared), memory), (disk.open(declared), disk)]
        for name, *arguments in operations:
            expected = None if name in ("commit", "undo") else model.run(name, *arguments)
            for store, bench in stores:
                assert run(store, bench, name, *arguments) == expected, (name, arguments)
        memory.commit()
        disk.commit()
        assert list(memory.table.scan(b"")) == list(disk.table.scan(b""))
