"""Cases of aggregates, suppression and joins of tables."""

from __future__ import annotations

from collections.abc import Callable

from conformance.cases import BadCase, fields
from conformance.functions import Aggregate, aggregate, grouping, join_kind, joiner
from conformance.script import Stores
from conformance.topology import Topology
from forebay.operators.aggregate import TableAggregate
from forebay.operators.results import Join, Result
from forebay.operators.suppress import Suppress, UntilTimeLimit, WhenFull
from forebay.operators.table import Change
from forebay.operators.table_table import JoinedTable, TableTableJoin, result_of
from forebay.stores.buffers import SuppressBuffer
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.testing.cell import Cell, Json, cell, cell_or_none, plain

_WHEN_FULL = {"emit_early": WhenFull.EMIT_EARLY, "shut_down": WhenFull.SHUT_DOWN}


class TableAggregateTopology(Topology):
    """A table that is grouped and aggregated with add and subtract."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(case, stores)
        spec = self.spec
        fields("topology", spec, {"op", "source", "source_table", "group_by", "aggregate"})
        self._table = self.table(spec["source_table"], "source")
        self._aggregate = self.aggregate(spec["group_by"], aggregate(spec["aggregate"]))

    def topics(self) -> set[str]:
        return {self.spec["source"]}

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        if key is None:
            return []
        return self.show(self._aggregate.process(self._table.update(key, cell_or_none(value), ts)))

    def aggregate(self, group_by: Json, fold: Aggregate) -> TableAggregate[Cell, Cell, Cell]:
        """Return the aggregate of a table."""
        group_of = grouping(group_by)

        def group(key: str, value: Cell) -> tuple[str, Cell] | None:
            pair = group_of(self.keys.decode(key), plain(value))
            return None if pair is None or pair[0] is None else (self.keys.encode(pair[0]), cell(pair[1]))

        return TableAggregate(
            self.stores.open(TimestampedKeyValueStore("aggregate", Cell)),
            group,
            lambda: cell(fold.initial),
            lambda _, value, total: cell(fold.add(plain(total), plain(value))),
            lambda _, value, total: cell(fold.subtract(plain(total), plain(value))),
        )


class SuppressTopology(TableAggregateTopology):
    """A table that is counted by value, with suppressed results."""

    def __init__(self, case: Json, stores: Stores) -> None:
        Topology.__init__(self, case, stores)
        spec = self.spec
        limits = {"max_records", "max_bytes", "when_full"}
        fields("topology", spec, {"op", "source", "until_time_limit_ms"}, limits)
        if spec.get("when_full", "emit_early") not in _WHEN_FULL:
            raise BadCase(f"unknown when_full {spec['when_full']!r}")
        self._table = self.table({"store": "latest_by_offset"}, "source")
        self._aggregate = self.aggregate("value", aggregate("count"))
        self._raw: list[Result[Cell]] = []
        self._suppress = Suppress(
            stores.open(SuppressBuffer("suppress", Cell)),
            UntilTimeLimit(spec["until_time_limit_ms"]),
            max_records=spec.get("max_records"),
            max_bytes=spec.get("max_bytes"),
            when_full=_WHEN_FULL[spec.get("when_full", "emit_early")],
        )

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        self._raw = []
        if key is None:
            return []
        self._raw = self._aggregate.process(self._table.update(key, cell_or_none(value), ts))
        released: list[Result[Cell]] = []
        for result in self._raw:
            assert result.key is not None
            self.stream_time = max(self.stream_time, result.timestamp)
            for update in self._suppress.process(result.key, None, result.value, result.timestamp, self.stream_time):
                released.append(Result(update.key, update.value, update.timestamp))
        return self.show(released)

    def raw(self) -> list[Json]:
        return self.show(self._raw)


class TableTableTopology(Topology):
    """A join of two tables. If the case specifies it, the result is joined with the right table once more."""

    def __init__(self, case: Json, stores: Stores) -> None:
        super().__init__(case, stores)
        spec = self.spec
        tables = {"left_table", "right_table"}
        if spec["op"] == "table_table_multi_join":
            fields("topology", spec, {"op", "joins", "value_joiner", *tables}, {"shape", "left", "right", "cache"})
            if spec.get("shape", "(left JOIN right) JOIN right") != "(left JOIN right) JOIN right":
                raise BadCase(f"unknown shape {spec['shape']!r}")
            kinds = [join_kind(name) for name in spec["joins"]]
        else:
            fields("topology", spec, {"op", "join", "value_joiner", *tables}, {"left", "right", "cache"})
            kinds = [join_kind(spec["join"])]
        self._left = self.table(spec["left_table"], "left")
        self._right = self.table(spec["right_table"], "right")
        self._first = TableTableJoin(self._left, self._right, kinds[0], self._joiner)
        joined = JoinedTable(self._left, self._right, kinds[0], self._joiner)
        self._further = self._chain(joined, kinds[1:])

    def topics(self) -> set[str]:
        return {self.spec.get("left", "left"), self.spec.get("right", "right")}

    def process(self, topic: str, key: str | None, value: Json, ts: int) -> list[Json]:
        if key is None:
            return []
        results: list[Result[Cell]] = []
        if topic == self.spec.get("left", "left"):
            results += self._on_left(self._left.update(key, cell_or_none(value), ts), self._further)
        if topic == self.spec.get("right", "right"):
            results += self._on_right(self._right.update(key, cell_or_none(value), ts))
        return self.show(results)

    def only_final(self) -> bool:
        return bool(self.spec["op"] == "table_table_multi_join")

    def _chain(
        self, joined: JoinedTable[Cell, Cell, Cell], kinds: list[Join]
    ) -> list[TableTableJoin[Cell, Cell, Cell]]:
        joins: list[TableTableJoin[Cell, Cell, Cell]] = []
        for kind in kinds:
            joins.append(TableTableJoin(joined, self._right, kind, self._joiner))
            joined = JoinedTable(joined, self._right, kind, self._joiner)
        return joins

    def _on_left(
        self, change: Change[Cell] | None, further: list[TableTableJoin[Cell, Cell, Cell]]
    ) -> list[Result[Cell]]:
        return self._pass_on(self._first.on_left(change), further)

    def _on_right(self, change: Change[Cell] | None) -> list[Result[Cell]]:
        results = self._pass_on(self._first.on_right(change), self._further)
        for index, join in enumerate(self._further):
            results += self._pass_on(join.on_right(change), self._further[index + 1 :])
        return results

    @staticmethod
    def _pass_on(change: Change[Cell] | None, further: list[TableTableJoin[Cell, Cell, Cell]]) -> list[Result[Cell]]:
        for join in further:
            change = join.on_left(change)
        return result_of(change)

    @property
    def _joiner(self) -> Callable[[Cell | None, Cell | None], Cell]:
        join = joiner(self.spec["value_joiner"])
        return lambda left, right: cell(join(plain(left), plain(right)))
