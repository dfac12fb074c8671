"""Statistics of a task since its worker opened it, for operators. Nothing depends on them."""

from __future__ import annotations

import bisect
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from typing import Any

from forebay.processor.engine import TaskEngine
from forebay.runtime.task.commit import TaskCommit
from forebay.stores.table import Table

LATENCY_MS = (5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 750, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
"""Upper bounds (ms) of a latency histogram's buckets. One more bucket, the last, counts longer latencies."""

_TARGET = attrgetter("target")
_SAMPLES = 10
_OWN_BYTES = 1_000
"""Bytes of a report for the logic's own counters."""
_NUMBER_BYTES = 24
_MOST_BYTES = 3_300
"""A broker accepts 4,096 bytes of metadata per offset (offset.metadata.max.bytes). Longer reports are shortened."""


OTHERS = "(others)"
"""Replaces names that do not fit into a report."""

_MOST_NAMES = 3


@dataclass(slots=True)
class TaskFigures:
    """A task's counters since `opened` (ms since the epoch, by the worker's clock), and its current state.

    Args:
        latencies: histogram (LATENCY_MS) of the time from a record's append to its commit, of samples.
        latency_ms: sum of these latencies.
        delays: histogram (LATENCY_MS) of the time from an output's timestamp (event time) to its commit, of samples.
        delay_ms: sum of these delays.
        skipped: offsets of inputs that were deleted before they were read, by topic.
        sent: outputs by topic, as the job names it.
        stores: rows, bytes, puts and reads by key of each store.
        restore_seconds: duration of the replay that rebuilt the table without a snapshot.
        tail_rows: rows written to the changelogs since the snapshot, which a start has to replay.
        seconds: wall time by phase of the loop; `cpu_seconds` the thread's.
        own: the logic's own counters, as many as fit into a report.
        passed: elements sent from operator to operator, by the two operators' numbers ("1 3").
        dropped: records of sub-topologies that the job no longer has, by repartition topic.
        lag: uncommitted records of the inputs (see `measure_lag`); None if unknown.
    """

    sub_topology: int
    task: int
    opened: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    at: int = 0
    commits: int = 0
    n: int = 0
    records_in: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    outputs: int = 0
    sent: dict[str, int] = field(default_factory=dict)
    errors: int = 0
    late: int = 0
    duplicates: int = 0
    timers_fired: int = 0
    changes: int = 0
    conversions: list[str] = field(default_factory=list)
    stream_time: int = -1
    closing_time: int = -1
    state_rows: int = 0
    state_bytes: int = 0
    restored_rows: int = 0
    restore_seconds: float = 0.0
    tail_rows: int = 0
    stores: dict[str, list[int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    cpu_seconds: dict[str, float] = field(default_factory=dict)
    latencies: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_MS) + 1))
    latency_ms: int = 0
    delays: list[int] = field(default_factory=lambda: [0] * (len(LATENCY_MS) + 1))
    delay_ms: int = 0
    worker: int = 0
    own: dict[str, float] = field(default_factory=dict)
    passed: dict[str, int] = field(default_factory=dict)
    dropped: dict[str, int] = field(default_factory=dict)
    lag: dict[str, list[int]] | None = None

    def note(self, own: Mapping[str, float]) -> None:
        """Record the logic's own counters, as many as a report has room for."""
        room = _OWN_BYTES
        self.own = {}
        # Sorted, so that every report leaves out the same counters. A counter that disappears and returns would look
        # like a restart.
        for name in sorted(own):
            room -= len(json.dumps(name)) + _NUMBER_BYTES
            if room < 0:
                return
            self.own[name] = own[name]

    def add(self, commit: TaskCommit, table: Table) -> None:
        """Count a successful commit."""
        result, position = commit.result, commit.position
        self.commits += 1
        self.n = position.n
        for topic, count in result.records_by_topic.items():
            self.records_in[topic] = self.records_in.get(topic, 0) + count
        self.outputs += len(result.outputs)
        for topic, count in Counter(map(_TARGET, result.outputs)).items():
            self.sent[topic] = self.sent.get(topic, 0) + count
        self.errors += len(result.errors)
        self.late += len(result.late)
        self.duplicates += result.duplicates
        self.timers_fired += result.timers_fired
        self.changes += len(result.changes)
        self.tail_rows += len(result.changes)
        self.conversions += [str(conversion) for conversion in result.conversions]
        self.stream_time, self.closing_time = position.stream_time, position.closing_time
        self.stand(table)
        now, outputs = time.time_ns() // 1_000_000, result.outputs
        for output in outputs[:: max(1, len(outputs) // _SAMPLES)]:
            delay = max(0, now - output.timestamp)
            self.delays[bisect.bisect_left(LATENCY_MS, delay)] += 1
            self.delay_ms += delay

    def measure(self, appended: Iterable[float], now: float) -> None:
        """Count the latency of records of a successful commit.

        Args:
            appended: times (monotonic clock, s) at which the records were appended.
            now: current time of the same clock.
        """
        for time_s in appended:
            latency = max(0, round((now - time_s) * 1_000))
            self.latencies[bisect.bisect_left(LATENCY_MS, latency)] += 1
            self.latency_ms += latency

    def took(self, commit: TaskCommit, table: Table, engine: TaskEngine) -> None:
        """Count a successful commit, and record the counters of stores and logic."""
        self.add(commit, table)
        self.note_stores(table.store_sizes(), engine.store_calls())
        self.note(engine.processor.figures())
        self.passed = dict(engine.processor.edge_counts())

    @contextmanager
    def time_phase(self, phase: str) -> Iterator[None]:
        """Add the duration of the `with` block to a phase of the loop."""
        wall, cpu = time.perf_counter(), time.thread_time()
        try:
            yield
        finally:
            self.seconds[phase] = self.seconds.get(phase, 0.0) + time.perf_counter() - wall
            self.cpu_seconds[phase] = self.cpu_seconds.get(phase, 0.0) + time.thread_time() - cpu

    def skip(self, topic: str, count: int) -> None:
        """Count offsets of an input that were deleted before they were read."""
        self.skipped[topic] = self.skipped.get(topic, 0) + count

    def stand(self, table: Table) -> None:
        """Record the table's size."""
        self.state_rows, self.state_bytes = len(table), table.size_bytes

    def note_stores(self, sizes: Mapping[str, tuple[int, int]], calls: Mapping[str, tuple[int, int]]) -> None:
        """Record the size of each store (rows, bytes) and its number of calls (puts, reads)."""
        self.stores = {name: [*sizes.get(name, (0, 0)), *counts] for name, counts in calls.items()}

    def sign(self, at: int) -> None:
        """Set the id of the reporting process, and the time (ms) of the loop's last cycle."""
        self.worker, self.at = os.getpid(), at

    def to_json(self) -> str:
        """Return the report as JSON. If it is too long for the broker, less important fields are shortened."""
        report = asdict(self)
        # Release 0.2 reads and writes `part`. During an upgrade, drivers and workers may be of different releases.
        report["part"] = report.pop("sub_topology")
        for name in ("seconds", "cpu_seconds"):
            report[name] = {phase: round(value, 3) for phase, value in report[name].items()}
        text = json.dumps(report, separators=(",", ":"))
        for left_out in ("passed", "stores"):
            if len(text) > _MOST_BYTES:
                report[left_out] = {}
                text = json.dumps(report, separators=(",", ":"))
        for shortened in ("own", "sent", "records_in"):
            if len(text) > _MOST_BYTES:
                report[shortened] = _first(report[shortened])
                text = json.dumps(report, separators=(",", ":"))
        if len(text) > _MOST_BYTES:
            # The driver then gets the lag from the broker.
            report["lag"] = None
            text = json.dumps(report, separators=(",", ":"))
        return text

    @classmethod
    def from_json(cls, text: str) -> TaskFigures:
        """Read a report; ignore fields that a newer release added."""
        counts: dict[str, Any] = json.loads(text)
        counts["sub_topology"] = counts.pop("part")
        return cls(**{name: value for name, value in counts.items() if name in _KNOWN})


def _first(counts: Mapping[str, float]) -> dict[str, float]:
    """Return the counts of the first names in alphabetical order, and the sum of all others under OTHERS.

    The largest counts would not do, because which ones these are changes, and then their counters would go down.
    """
    ordered = sorted(counts)
    rest = sum(counts[name] for name in ordered[_MOST_NAMES:])
    return {**{name: counts[name] for name in ordered[:_MOST_NAMES]}, **({OTHERS: rest} if rest else {})}


_KNOWN = frozenset(item.name for item in fields(TaskFigures))
