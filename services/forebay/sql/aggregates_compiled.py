"""Compilation of a plan's aggregation step to the DSL, for streams, windows and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from forebay.builder.stream import Stream
from forebay.builder.table import Table
from forebay.operators.results import Emission
from forebay.sql.computed import row_of
from forebay.sql.encodings.rows import key_format
from forebay.sql.folding import fold_of, results_of, state_format
from forebay.sql.former_rows import describe_rows
from forebay.sql.nodes import is_windowed, map_rows
from forebay.sql.plan import Aggregated, Rekeyed
from forebay.sql.syntax import WindowClause
from forebay.sql.values import computed_from, row_format
from forebay.time import SessionWindows, TimeWindows

if TYPE_CHECKING:
    from forebay.sql.compile import Compiler

DAY_MS = 86_400_000


def compile_aggregate(compiler: Compiler, step: Aggregated, name: str) -> Any:
    """Return the results of an aggregation, by key or by key and window."""
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
    types, texts = tuple(code.type for code in codes), tuple(code.text for code in codes)
    if isinstance(rows, Stream):
        fold = fold_of(step.aggregates, 0)
        kind = row_format(types, texts)
        # The key does not change, so the rows stay in their tasks and need no repartition.
        if grouped.stays:
            argument_rows = map_rows(rows, "arguments", types, lambda k, v, _t, _c: make_row(k, v), texts)
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
        table = _of_table(compiler, rows, (make_key, make_row), (grouped, codes), step, state, store)
    results = results_of(step.aggregates)
    types = tuple(aggregate.type for aggregate in step.aggregates)
    return map_rows(table, "results", types, lambda k, v, _t, _c: results(v), step.names)


def _of_table(
    compiler: Compiler,
    rows: Table[Any, Any],
    makers: tuple[Any, Any],
    parts: tuple[Rekeyed, Any],
    step: Aggregated,
    state: Any,
    store: str,
) -> Table[Any, Any]:
    make_key, make_row = makers
    grouped, codes = parts
    number = len(grouped.keys)
    columns = (*grouped.keys, *codes)
    types, texts = [code.type for code in columns], [code.text for code in columns]
    # The former row is computed again if a row changes. If another statement added it, another value would be
    # subtracted. This also holds for changes that are unread in the repartition topic.
    former = describe_rows(grouped.parent, columns, compiler.step_of)
    state = computed_from(state, former)
    wide = map_rows(
        rows,
        "arguments",
        types,
        lambda k, v, _t, _c: make_key(k, v) + make_row(k, v),
        texts,
        lambda row: computed_from(row, former),
    )
    key = key_format(grouped.into, grouped.format)
    assert isinstance(wide, Table)
    # If a row of a table no longer has a group, it must still be removed from its former group. The old row is
    # therefore subtracted even if the new row is dropped.
    groups = wide.group_by(lambda _k, v: None if None in v[:number] else v[:number], key)
    return groups.aggregate(fold_of(step.aggregates, number), state, store=store)


def _in_windows(groups: Any, window: WindowClause, fold: Any, kept: Any, store: str, *, final: bool) -> Table[Any, Any]:
    emission = Emission.FINAL if final else Emission.UPDATES
    grace = window.grace_ms
    if grace is None:
        # ksqlDB uses the old default of Kafka Streams, by which size and grace together are 24 hours. With EMIT FINAL,
        # its default is 0, so that a result is emitted at the end of its window.
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
