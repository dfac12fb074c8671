"""The step of a plan that aggregates, in the DSL: of a stream, in windows, of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.operators.results import Emission
from forebay.sql.computed import row_of
from forebay.sql.encodings.rows import key_format
from forebay.sql.folding import fold_of, results_of, state_format
from forebay.sql.nodes import is_windowed, map_rows
from forebay.sql.plan import Aggregated, Rekeyed
from forebay.sql.syntax import WindowClause
from forebay.sql.values import row_format
from forebay.time import SessionWindows, TimeWindows

if TYPE_CHECKING:
    from forebay.sql.compile import Compiler

DAY_MS = 86_400_000


def compile_aggregate(compiler: Compiler, step: Aggregated, name: str) -> Any:
    """Return the rows of an aggregate: the results, by key or by key and window."""
    grouped = step.parent
    assert isinstance(grouped, Rekeyed)
    rows = compiler.step(grouped.parent, name)
    codes = tuple(code for codes in step.arguments for code in codes)
    windowed = is_windowed(rows)
    make_key, make_row = row_of(grouped.keys, windowed=windowed), row_of(codes, windowed=windowed)
    store = compiler.name(name)
    compiler.stores[id(step)] = store
    state = state_format(step.aggregates, step.names, [f"{code.text} {code.type}" for code in grouped.keys])
    key = key_format(grouped.into, grouped.format)
    types = tuple(code.type for code in codes)
    if isinstance(rows, Stream):
        fold = fold_of(step.aggregates, 0)
        kind = row_format(types)
        # The key does not change, so the rows stay in their tasks and need no repartition.
        if grouped.stays:
            argument_rows = map_rows(rows, "arguments", types, lambda k, v, _t, _c: make_row(k, v))
            stream = Stream[Any, Any](argument_rows.graph, argument_rows.node, rows.is_rekeyed)
        else:

            def pairs(k: Any, v: Any) -> list[tuple[Any, Any]]:
                group_key = make_key(k, v)
                # ksqlDB drops a row if any part of its group is null.
                return [] if None in group_key else [(group_key, make_row(k, v))]

            stream = rows.flat_map(pairs, kind, key)
        groups = stream.group_by_key()
        if step.window is None:
            table = groups.aggregate(fold, state, store=store)
        else:
            table = _in_windows(groups, step.window, fold, state, store, final=step.final)
    else:
        table = _of_table(rows, (make_key, make_row), (grouped, types), step, state, store)
    results = results_of(step.aggregates)
    types = tuple(aggregate.type for aggregate in step.aggregates)
    return map_rows(table, "results", types, lambda k, v, _t, _c: results(v), step.names)


def _of_table(
    rows: Table[Any, Any], makers: tuple[Any, Any], parts: tuple[Rekeyed, Any], step: Aggregated, kept: Any, store: str
) -> Table[Any, Any]:
    make_key, make_row = makers
    grouped, types = parts
    number = len(grouped.keys)
    whole = tuple(code.type for code in grouped.keys) + types
    wide = map_rows(rows, "arguments", whole, lambda k, v, _t, _c: make_key(k, v) + make_row(k, v))
    key = key_format(grouped.into, grouped.format)
    assert isinstance(wide, Table)
    # A table's row without a group leaves its former group, so the old row must be subtracted even if the new one is
    # dropped.
    groups = wide.group_by(lambda _k, v: None if None in v[:number] else v[:number], key)
    return groups.aggregate(fold_of(step.aggregates, number), kept, store=store)


def _in_windows(groups: Any, window: WindowClause, fold: Any, kept: Any, store: str, *, final: bool) -> Table[Any, Any]:
    emission = Emission.FINAL if final else Emission.UPDATES
    grace = window.grace_ms
    if grace is None:
        # ksqlDB keeps the old default of Kafka Streams, by which size and grace together are 24 hours. With EMIT FINAL
        # its default is 0, so that a result comes at the end of its window.
        grace = 0 if final else max(0, DAY_MS - window.size_ms)
    if window.kind == "SESSION":
        windows: Any = SessionWindows(window.size_ms, grace)
    else:
        windows = TimeWindows(window.size_ms, window.advance_ms, grace)
    retention = max(window.retention_ms or 0, 0)
    # A RETENTION below size plus grace would drop windows that still accept records.
    if retention and retention < windows.retention_ms:
        retention = windows.retention_ms
    windowed_table: Table[Any, Any] = groups.windowed_by(windows, emission).aggregate(
        fold, kept, store=store, retention_ms=retention
    )
    return windowed_table
