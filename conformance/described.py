"""Cases of topologies that run in the DSL, on the runtime's loop and with repartition topics."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cases import BadCase, CaseResult, FileResult, case_files, load_cases
from conformance.functions import aggregate, grouping, join_kind, joiner
from conformance.runner import case_name, judge, make_script
from conformance.script import Declarations, Outcome
from forebay.builder import Table, Topology, Windowed, job
from forebay.formats import key_writer
from forebay.operators.folds import Fold
from forebay.operators.results import Emission, Join
from forebay.operators.suppress import UntilTimeLimit, UntilWindowCloses, WhenFull
from forebay.partitioner import partition_of
from forebay.serde.json_format import JSON
from forebay.testing import TestDriver
from forebay.testing.cell import Json
from forebay.time.sessions import SessionWindows
from forebay.time.windows import JoinWindows, TimeWindows

_STORE = "aggregate"
_OUT, _RAW = "out", "raw"
_FACTS = frozenset({"dropped_window_updates", "dropped_records"})
"""Counters of the operators, which a topology does not expose."""


@dataclass(frozen=True, slots=True)
class _NoSettings:
    """Cases have none."""


def run_described(directory: Path, tasks: int = 1) -> Iterator[FileResult]:
    """Run the topology cases below a directory in the DSL, file by file. Raises FileNotFoundError without files.

    With several tasks, cases that need a single task are skipped (see `shares_a_task`).
    """
    for file in case_files(directory):
        try:
            cases = load_cases(file)
        except BadCase as error:
            yield FileResult(file, (CaseResult(file.name, problem=str(error)),))
            continue
        topologies = [
            (case, index)
            for index, case in enumerate(cases)
            if isinstance(case, dict) and "topology" in case and not shares_a_task(case, tasks)
        ]
        if topologies:
            yield FileResult(file, tuple(run_case(case, index, tasks) for case, index in topologies))


def shares_a_task(case: Json, tasks: int) -> bool:
    """Return whether keys of a case that must share a stream time or a buffer would be in different tasks."""
    key = key_writer(JSON)
    owners = {partition_of(key(JSON.row(record["key"])), tasks) for record in case["input"]}  # type: ignore[misc]
    return len(owners) > 1 and not case["topology"]["op"].startswith("table_table")


def run_case(case: Json, index: int, tasks: int = 1) -> CaseResult:
    """Run the topology of a case. A record of a table with a null key is sent to `.errors`. Kafka Streams drops it."""

    def differences() -> Any:
        compared = {name: value for name, value in case["expected"].items() if name not in _FACTS}
        script = make_script({**case, "expected": compared}, Declarations())
        return list(script.differences(_outcomes(case, tasks)))

    return judge(case_name(case, index), differences)


def _outcomes(case: Json, tasks: int) -> list[Outcome]:
    spec = case["topology"]

    def build(_: _NoSettings) -> Topology:
        topology = Topology()
        _DESCRIBED[spec["op"]](topology, spec)
        return topology

    driver = TestDriver(job(_NoSettings, build), tasks=tasks, dedupe_retention_ms=0)
    outcomes = []
    for record in case["input"]:
        sent = driver.pipe(record["key"], record["value"], record["topic"], record["ts"])
        if driver.errors and record["key"] is not None:
            raise RuntimeError(driver.errors[0].headers["error.message"])
        of_topic = {topic: [_show(record) for record in sent if record.topic == topic] for topic in (_OUT, _RAW)}
        outcomes.append(
            Outcome({"sent": of_topic[_OUT], "raw": of_topic[_RAW] if "until_time_limit_ms" in spec else None})
        )
    facts = {"live_sessions": _live(driver)} if spec.get("window") == "session" else {}
    return [*outcomes, Outcome(facts)]


def _show(sent: Any) -> Json:
    bounds = {"start": sent.key.window.start, "end": sent.key.window.end} if isinstance(sent.key, Windowed) else {}
    key = sent.key.key if isinstance(sent.key, Windowed) else sent.key
    return json.loads(json.dumps({"key": key, **bounds, "value": sent.value, "ts": sent.timestamp}))


def _live(driver: TestDriver) -> Json:
    return [{"key": s.key, "start": s.start, "end": s.end, "value": s.value} for s in driver.store(_STORE)]


def _table(t: Topology, topic: str, spec: Json) -> Table[Any, Any]:
    kind = spec.get("store") if isinstance(spec, dict) else spec
    history = spec["history_retention_ms"] if kind == "versioned" else None
    return t.table(topic, JSON, key=JSON, store=f"{topic}-rows", history_retention_ms=history)


def _stream_table(t: Topology, spec: Json) -> None:
    stream, table = t.stream(spec["left"], JSON, key=JSON), _table(t, spec["right"], spec["right_table"])
    joins: dict[Join, Callable[..., Any]] = {Join.LEFT: stream.left_join, Join.INNER: stream.join}
    join = joins[join_kind(spec["join"])]
    join(table, joiner(spec["value_joiner"]), JSON, grace_ms=spec.get("grace_ms") or 0, waiting="waiting").to(_OUT)


def _stream_stream(t: Topology, spec: Json) -> None:
    left = t.stream(spec["left"], JSON, key=JSON)
    right = left if spec["right"] == spec["left"] else t.stream(spec["right"], JSON, key=JSON)
    around = spec.get("time_difference_ms", 0)
    windows = JoinWindows(spec.get("before_ms", around), spec.get("after_ms", around), spec["grace_ms"])
    joins: dict[Join, Callable[..., Any]] = {
        Join.INNER: left.join,
        Join.LEFT: left.left_join,
        Join.OUTER: left.outer_join,
    }
    join: Callable[..., Any] = joins[join_kind(spec["join"])]
    join(right, joiner(spec["value_joiner"]), JSON, windows=windows, store="joined").to(_OUT)


def _fold(spec: Json) -> Fold[Any, Any]:
    fold = aggregate(spec)
    return Fold(
        lambda: fold.initial,
        lambda _, value, total: fold.add(total, value),
        lambda _, value, total: fold.subtract(total, value),
        lambda _, one, two: fold.merge(one, two),
    )


def _group(t: Topology, source: str, table: Json, group_by: Json, spec: Json) -> Table[Any, Any]:
    group, fold = grouping(group_by), _fold(spec)

    def pair(key: Json, value: Json) -> Json:
        pair = group(key, value)
        return [None, None] if pair is None else list(pair)

    of_groups = Fold[Any, Any](
        fold.initial,
        lambda key, value, total: fold.add(key, value[1], total),
        lambda key, value, total: fold.subtract(key, value[1], total) if fold.subtract else total,
    )
    pairs = _table(t, source, table).map_values(pair, JSON)
    return pairs.group_by(lambda _, value: value[0], JSON).aggregate(of_groups, JSON, store=_STORE)


def _table_aggregate(t: Topology, spec: Json) -> None:
    _group(t, spec["source"], spec["source_table"], spec["group_by"], spec["aggregate"]).to_stream().to(_OUT)


def _suppress(t: Topology, spec: Json) -> None:
    counts = _group(t, spec["source"], "latest_by_offset", "value", "count")
    counts.to_stream().to(_RAW)
    held = counts.suppress(
        UntilTimeLimit(spec["until_time_limit_ms"]),
        store="held",
        max_records=spec.get("max_records"),
        max_bytes=spec.get("max_bytes"),
        when_full=WhenFull(spec.get("when_full", "emit_early").replace("_", " ")),
    )
    held.to_stream().to(_OUT)


def _table_table(t: Topology, spec: Json) -> None:
    left = _table(t, spec.get("left", "left"), spec["left_table"])
    right = _table(t, spec.get("right", "right"), spec["right_table"])
    for name in spec["joins"] if spec["op"] == "table_table_multi_join" else [spec["join"]]:
        joins: dict[Join, Callable[..., Any]] = {
            Join.INNER: left.join,
            Join.LEFT: left.left_join,
            Join.OUTER: left.outer_join,
        }
        join: Callable[..., Table[Any, Any]] = joins[join_kind(name)]
        left = join(right, joiner(spec["value_joiner"]), JSON)
    left.to_stream().to(_OUT)


def _add_windowed(t: Topology, spec: Json) -> None:
    windows: SessionWindows | TimeWindows
    if spec["window"] == "session":
        windows, retention = SessionWindows(spec["gap_ms"], spec["grace_ms"]), 1 << 60
    else:
        size = spec["size_ms"]
        windows, retention = TimeWindows(size, spec.get("advance_ms", size), spec["grace_ms"]), 0
    emit = Emission.FINAL if spec["emit"] == "final" else Emission.UPDATES
    grouped = t.stream(spec["source"], JSON, key=JSON).group_by_key().windowed_by(windows, emit)
    table = grouped.aggregate(_fold(spec["aggregate"]), JSON, store=_STORE, retention_ms=retention)
    if spec["emit"] == "suppress_until_window_closes":
        table = table.suppress(UntilWindowCloses(windows), store="held")
    table.to_stream().to(_OUT)


_DESCRIBED: dict[str, Callable[[Topology, Json], None]] = {
    "stream_stream_join": _stream_stream,
    "stream_table_join": _stream_table,
    "table_aggregate": _table_aggregate,
    "table_count_by_value_then_suppress": _suppress,
    "table_table_join": _table_table,
    "table_table_multi_join": _table_table,
    "windowed_aggregate": _add_windowed,
}
