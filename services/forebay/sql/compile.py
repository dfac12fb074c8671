"""Compiler from the query plans of a program to a topology of the DSL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from forebay.builder.keys import reader_of_rows, writer_of_rows
from forebay.builder.nodes import TopologyError
from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.builder.topology import Topology
from forebay.formats import Format
from forebay.sql import evolution, joins_compiled, readable, sources, store_names
from forebay.sql.aggregates_compiled import compile_aggregate
from forebay.sql.catalog import ROWTIME, Source
from forebay.sql.computed import condition_of, row_of
from forebay.sql.encodings.rows import key_format
from forebay.sql.errors import SqlError
from forebay.sql.limits import check_rows
from forebay.sql.nodes import (
    Rows,
    in_value_format,
    is_windowed,
    map_rows,
    null_of_single,
    rows_under,
    rows_where,
    store_versions,
    stream_with_rows,
    under_format,
    with_times,
)
from forebay.sql.plan import (
    Aggregated,
    Exploded,
    Filtered,
    Joined,
    Projected,
    QueryPlan,
    Rekeyed,
    Scan,
    Settled,
    Step,
)
from forebay.sql.program import Program
from forebay.sql.readable import Readable
from forebay.sql.tokens import TOO_DEEP
from forebay.sql.unmatched import Unmatched


class Compiler:
    """Compiler of a program to the topology of one job.

    Args:
        program: The program, whose queries become sub-topologies.
    """

    def __init__(self, program: Program) -> None:
        self.topology = Topology()
        self._program = program
        self._rows: dict[Source, Rows] = {}
        self._made: dict[int, Rows] = {}
        self._keys: dict[str, Format[Any]] = {}
        self._names: set[str] = set()
        self._stored: dict[Source, Table[Any, Any]] = {}
        self._unmatched = Unmatched(self.step_of)
        queries = (*program.queries, *program.waiting)
        self._labels = {query.target: query.shown_label for query in queries if not query.is_insert}
        self.stores: dict[int, str] = {}
        self.readable: dict[str, Readable] = {}
        self._reader = sources.Sources(
            self.topology, (scan for query in program.queries for scan in evolution.scans(query.step))
        )

    def run(self) -> Topology:
        """Return the topology. Raises SqlError if a statement can't run."""
        for query in self._program.queries:
            self._query(query)
        return self.topology

    def name(self, text: str) -> str:
        """Return a unique name for a store or a repartition topic."""
        base = store_names.base_of(text)
        candidate, number = base, 1
        while candidate in self._names:
            number += 1
            candidate = f"{base}-{number}"
        self._names.add(candidate)
        return candidate

    def rows_of(self, source: Source) -> Rows:
        """Return the rows of a source, which are the results of all queries that write it or the rows of its topic."""
        if source not in self._rows:
            if source.is_derived:
                results = [self._query(query) for query in self._program.queries if query.target == source]
                self._rows[source] = _merge(results)
            else:
                self._rows[source] = self._reader.read(source, self.name(store_names.table_of(source.name)))
        return self._rows[source]

    def step_of(self, source: Source) -> Step:
        """Return the last step of the query whose result is a table."""
        return next(query.step for query in self._program.queries if query.target == source)

    def _query(self, query: QueryPlan) -> Rows:
        """Return the rows of a query. Each query is compiled once."""
        if id(query) not in self._made:
            try:
                self._made[id(query)] = self._compile(query)
            except (TopologyError, TypeError) as error:
                raise SqlError(query.place, f"{query.name}: {error}") from error
            except (RecursionError, MemoryError, SyntaxError) as error:  # Python can't compile very deep expressions
                raise SqlError(query.place, f"{query.name} {TOO_DEEP}") from error
        return self._made[id(query)]

    def _compile(self, query: QueryPlan) -> Rows:
        target = query.target
        rows: Rows = self.step(query.step, query.label)
        if isinstance(rows, Stream):
            rows = _under_key(_written(rows, target), target)
            self._send(rows, query)
            return rows
        self._stored[target] = self._queryable(query, rows)
        rows = _written(rows, target)
        self._send(rows, query)
        return rows

    def _send(self, found: Rows, query: QueryPlan) -> None:
        """Send rows to the topic of their target, in the formats of the target."""
        target = query.target
        self._reader.write(target)
        if isinstance(found, Stream):
            stream = found
        elif isinstance(readable.base_of(query.step), Aggregated):
            stream = found.to_stream()  # an aggregate begins without rows
        else:
            stream = stream_with_rows(found, query.shown_label, is_topic=True)
        node = stream.node
        key, value = sources.formats_of(target)
        if node.key.name == key.name:
            key = node.key
        # All queries that write to a topic share one format object.
        key = self._keys.setdefault(target.topic, key)
        if node.key is not key:
            node = stream.graph.add(under_format(node, key))
        if node.value is not value:
            node = stream.graph.add(in_value_format(node, value))
        if _is_bare(target):
            node = stream.graph.add(null_of_single(node))
        Stream(stream.graph, node, stream.is_rekeyed).to(target.topic)

    def _queryable(self, query: QueryPlan, found: Table[Any, Any]) -> Table[Any, Any]:
        """Register a table for pull queries, with a store of its rows or a store from which they can be computed.

        Returns:
            The table, with its own store if it has one.
        """
        base = readable.base_of(query.step)
        store = None if base is None else self._store_of(base)
        key = found.node.key
        windowed, stored = is_windowed(found), found
        if store is None:
            store = self.name(query.label)
            stored = found.materialized(store)
            make: readable.MakeRow = lambda _key, row, _time: row  # noqa: E731
        else:
            make = readable.row_maker(query.step, windowed, self._reader.columns)
        # The store of a windowed aggregate holds plain keys. The window is a separate part of its row.
        inner = key_format(query.target.keys, key_kind(key)) if windowed and base is not None else key
        self.readable[query.target.name] = Readable(
            query.target, store, reader_of_rows(inner), writer_of_rows(inner), make, self._history(query, found)
        )
        return stored

    def _history(self, query: QueryPlan, found: Table[Any, Any]) -> str:
        """Store a table's former rows in another store if the target specifies it. Return the store's name, or ""."""
        target = query.target
        if not target.history_ms:
            return ""
        store = self.name(f"{query.label} history")
        store_versions(_written(found, target), store, target.history_ms)
        return store

    def _store_of(self, base: Step) -> str | None:
        if isinstance(base, Scan) and not base.source.is_derived:
            rows = self._rows.get(base.source)
            return rows.name if isinstance(rows, Table) else None
        return self.stores.get(id(base))

    def step(self, step: Step, name: str) -> Rows:
        """Return the rows of a step."""
        match step:
            case Scan():
                return self._scan(step)
            case Filtered(parent, condition):
                rows = self.step(parent, name)
                keeps = condition_of(condition, windowed=is_windowed(rows))
                if isinstance(rows, Stream):
                    return Stream(rows.graph, rows.graph.add(rows_where(rows.node, keeps)), rows.is_rekeyed)
                return rows.filter(keeps)
            case Rekeyed():
                return self._rekey(step, name)
            case Settled():
                return self._settle(step, name)
            case Exploded():
                rows = self.step(step.parent, name)
                assert isinstance(rows, Stream)
                # A record without a value has no arrays. The DSL would forward it.
                return _explode(rows.drop_nulls(), step)
            case Joined():
                return cast(Rows, joins_compiled.compile_join(self, step, name))
            case Aggregated():
                return cast(Rows, compile_aggregate(self, step, name))
            case Projected(parent, columns, into):
                rows = self.step(parent, name)
                make = row_of(columns, windowed=is_windowed(rows))
                return map_rows(
                    rows,
                    "select",
                    tuple(column.type for column in into),
                    lambda k, v, _t, _c: make(k, v),
                    [column.name for column in into],
                )

    def _scan(self, step: Scan) -> Rows:
        rows = self.rows_of(step.source)
        names = [slot.name for slot in step.slots]
        # The stored rows have the timestamps with which they were forwarded.
        if ROWTIME in names and step.source.timestamp is None and self._unmatched.has_rows(step):
            rows = self._stored[step.source]
        make = sources.row_maker(self._reader.columns(step.source), step.slots, windowed=is_windowed(rows))
        # Copies of the rows behind a repartition are named after this node.
        label = self._labels.get(step.source, step.source.name)
        return map_rows(rows, f"columns of {label}", tuple(slot.type for slot in step.slots), make, names)

    def _rekey(self, step: Rekeyed, name: str) -> Rows:
        rows = self.step(step.parent, name)
        if isinstance(rows, Table):
            return self._table_rekeyed(rows, step, name)
        if step.stays:
            return rows
        make = row_of(step.keys, windowed=is_windowed(rows))
        alone = row_of(step.alone, windowed=is_windowed(rows))
        key = key_format(step.into, step.format)

        def key_of(old: Any, row: Any) -> Any:
            new_key = make(old, row) if row is not None else alone(old, row)
            return None if new_key in ((), (None,)) else new_key

        return Stream(rows.graph, rows.graph.add(rows_under(rows.node, key, key_of)), True)

    def _table_rekeyed(self, rows: Table[Any, Any], step: Rekeyed, name: str) -> Rows:
        """Return a table with keys in another format. Rows move to the tasks that own the new keys."""
        return self._move(rows, key_format(step.into, step.format), name)

    def _settle(self, step: Settled, name: str) -> Rows:
        rows = self.step(step.parent, name)
        key = sources.windowed_key(key_format(step.into, step.format), step.windowing)
        if isinstance(rows, Table):
            return self._move(rows, key, name)
        return Stream(rows.graph, rows.graph.add(under_format(rows.node, key)), True)

    def _move(self, rows: Table[Any, Any], key: Any, name: str) -> Table[Any, Any]:
        store = self.name(f"{name} by key table")
        node = rows.graph.add(under_format(stream_with_rows(rows, store).node, key))
        moved = Stream[Any, Any](rows.graph, node, True).repartition(self.name(f"{name} by key"))
        return moved.to_table(store=store)


def _merge(made: Sequence[Rows]) -> Rows:
    """Return the merged rows of all queries that write a source."""
    first, *others = made
    streams = [stream for stream in others if isinstance(stream, Stream)]
    return first.merge(*streams) if isinstance(first, Stream) and streams else first


def key_kind(key: Any) -> str:
    """Return the name of a key format. If keys are windowed, it is the format of the key within the window."""
    return str(key.name).split("windowed ")[-1].split(" key ")[0]


def _is_bare(target: Source) -> bool:
    """Return whether values consist of a single unwrapped column, in a format that can't represent null."""
    encoding = target.encoding
    is_single = encoding.value == "KAFKA" or (encoding.value == "AVRO" and encoding.wraps is False)
    return is_single and len(target.values) == 1


def _written(rows: Any, target: Source) -> Any:
    """Return rows with the timestamps of the target's timestamp column, if it has one."""
    return rows if target.timestamp is None else with_times(rows, sources.time_reader(target))


def _under_key(rows: Stream[Any, Any], target: Source) -> Stream[Any, Any]:
    """Return rows with keys in the target's format, because queries that read the target expect this format."""
    key = sources.windowed_key(key_format(target.keys, target.encoding.key_kind), target.windowing)
    if target.is_framed or not target.keys or key_kind(key) == key_kind(rows.node.key):
        return rows
    return Stream(rows.graph, rows.graph.add(under_format(rows.node, key)), True)


def _explode(rows: Stream[Any, Any], step: Exploded) -> Rows:
    make = row_of(step.arrays, windowed=is_windowed(rows))

    def each(key: Any, row: Any) -> list[Any]:
        arrays = [array or () for array in make(key, row)]
        longest = max(len(array) for array in arrays)
        check_rows(longest, row)
        return [(*row, *(array[at] if at < len(array) else None for array in arrays)) for at in range(longest)]

    kind = sources.widen_rows(rows.node.value, tuple(slot.type for slot in step.slots))
    return rows.flat_map_values(each, kind)


def topology_of(program: Program) -> Topology:
    """Return the topology of a program. Raises SqlError."""
    return Compiler(program).run()
