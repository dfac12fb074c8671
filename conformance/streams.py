"""Cases of joins of a stream with a table or a stream, and of the assignment of times to windows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from conformance.cases import Difference, fields
from conformance.functions import join_kind, joiner
from conformance.script import Outcome, Script, Stores
from conformance.topology import Topology
from forebay.operators.results import Join, Result
from forebay.operators.stream_stream import StreamStreamJoin
from forebay.operators.stream_table import StreamTableJoin
from forebay.stores.buffers import JoinBuffer
from forebay.stores.window import WindowStore
from forebay.stores.window_reads import Duplicates
from forebay.testing.cell import Cell, Json, cell, cell_or_none, plain
from forebay.time.windows import JoinWindows, TimeWindows


class StreamTableTopology(Topology):
    """A stream joined with a table."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(case, stores)
        spec = self.spec
        fields("topology", spec, {"op", "left", "right", "join", "value_joiner", "right_table"}, {"grace_ms"})
        self._right = self.table(spec["right_table"], "right")
        join, grace = joiner(spec["value_joiner"]), spec.get("grace_ms")
        self._join: StreamTableJoin[Cell, Cell, Cell] = StreamTableJoin(
            self._right,
            join_kind(spec["join"]),
            lambda left, right: cell(join(plain(left), plain(right))),
            buffer=None if grace is None else stores.open(JoinBuffer("waiting", Cell)),
            grace_ms=grace or 0,
        )

    def topics(self) -> set[str]:
        return {self.spec["left"], self.spec["right"]}

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        results: list[Result[Cell]] = []
        if topic == self.spec["right"] and key is not None:
            self._right.update(key, cell_or_none(value), ts)
        if topic == self.spec["left"]:
            results = self._join.process(key, cell_or_none(value), ts)
        return self.show(results)


class StreamStreamTopology(Topology):
    """Two streams joined, or one with itself."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(case, stores)
        spec = self.spec
        difference = set() if "before_ms" in spec and "after_ms" in spec else {"time_difference_ms"}
        required = {"op", "left", "right", "join", "value_joiner", "grace_ms", *difference}
        fields("topology", spec, required, {"time_difference_ms", "before_ms", "after_ms"})
        around = spec.get("time_difference_ms", 0)
        windows = JoinWindows(spec.get("before_ms", around), spec.get("after_ms", around), spec["grace_ms"])
        join, kind = joiner(spec["value_joiner"]), join_kind(spec["join"])
        self._join: StreamStreamJoin[Cell, Cell, Cell] = StreamStreamJoin(
            self._stream("left", windows),
            self._stream("right", windows),
            windows,
            kind,
            lambda left, right: cell(join(plain(left), plain(right))),
            left_waiting=None if kind is Join.INNER else stores.open(JoinBuffer("left-waiting", Cell)),
            right_waiting=stores.open(JoinBuffer("right-waiting", Cell)) if kind is Join.OUTER else None,
        )

    def topics(self) -> set[str]:
        return {self.spec["left"], self.spec["right"]}

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        self.stream_time = max(self.stream_time, ts)
        results: list[Result[Cell]] = []
        if topic == self.spec["left"]:
            results += self._join.on_left(key, cell_or_none(value), ts, self.stream_time)
        if topic == self.spec["right"]:
            results += self._join.on_right(key, cell_or_none(value), ts, self.stream_time)
        return self.show(results)

    def _stream(self, name: str, windows: JoinWindows) -> WindowStore[Cell]:
        size = max(1, windows.before_ms + windows.after_ms)
        retention = max(size, windows.retention_ms)
        return self.stores.open(
            WindowStore(name, Cell, size_ms=size, retention_ms=retention, duplicates=Duplicates.KEEP)
        )


class Assignment(Script):
    """Assignment of a time to windows. It has one step and no stores."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(stores)
        self._case = fields("case", case, {"size_ms", "advance_ms", "ts", "expect"})

    def steps(self) -> int:
        return 1

    def run(self, index: int) -> Json:
        windows = TimeWindows(self._case["size_ms"], self._case["advance_ms"]).windows_for(self._case["ts"])
        return [{"start": window.start, "end": window.end} for window in windows]

    def differences(self, outcomes: Sequence[Outcome]) -> Iterator[Difference]:
        (outcome,) = outcomes
        if outcome.value != self._case["expect"]:
            yield Difference("windows", self._case["expect"], outcome.value)
