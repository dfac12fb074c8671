"""Decides what the next batch reads: pure, given what the broker says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from forebay.processor.api import IdleClose
from forebay.runtime.errors import TopicChanged
from forebay.runtime.offsets import SourceOffset

Ends = dict[str, tuple[int, ...]]
Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Limits:
    """Admission control.

    Args:
        max_records: of a batch, over all partitions.
        max_bytes: of a batch, by the sizes of samples of the records waiting; 0: no limit.
        tick_ms: wall time after which a batch without records lets idle time pass; 0: idle time never passes.
        even_empty: whether a batch is planned although nothing came and no tick is due.
    """

    max_records: int = 200_000
    max_bytes: int = 0
    tick_ms: int = 15_000
    even_empty: bool = False


_SHORTEST_TICK_MS = 500

LARGEST_RECORD = 1 << 20
"""Bytes of a record, for which brokers are usually set up: fewer records than fit at this size are not sampled."""


def limits_for(limits: Limits, idle: IdleClose | None) -> Limits:
    """Give limits whose ticks are no longer than the processor's idle timeout: its results wait for a tick."""
    if idle is None or not 0 < idle.after_ms < limits.tick_ms:
        return limits
    return replace(limits, tick_ms=max(_SHORTEST_TICK_MS, idle.after_ms))


@dataclass(frozen=True, slots=True)
class Probe:
    """How the planner looks into partitions; each call takes positions by (topic, partition).

    Args:
        timestamps: Kafka timestamps (ms) of the records at (or next after) these offsets.
        offsets_for: first offsets whose Kafka timestamp is at or after a time (ms); the end where there is none.
        average_bytes: average size of the records waiting: by the offsets they begin at, and how many they are.
    """

    timestamps: Callable[[Mapping[Partition, int]], Mapping[Partition, int]]
    offsets_for: Callable[[Mapping[Partition, int]], Mapping[Partition, int]]
    average_bytes: Callable[[Mapping[Partition, int], Mapping[Partition, int]], float]


def next_offset(start: SourceOffset, latest: Ends, now: int, limits: Limits, probe: Probe) -> SourceOffset:
    """Give the end of the next batch: `start` itself while nothing came and no tick is due.

    Args:
        latest: last stable offsets by topic.
        now: wall clock, ms.
    """
    check_partitions(start, latest)
    grown = {topic: (*ends, *([0] * (len(latest[topic]) - len(ends)))) for topic, ends in start.ends.items()}
    ends = admit(grown, latest, limits, probe)
    clock = max(start.clock, now)
    moved = {
        partition % start.tasks
        for topic, values in ends.items()
        for partition, end in enumerate(values)
        if end != grown[topic][partition]
    }
    passed = clock - start.clock
    if not (moved or (0 < limits.tick_ms <= passed) or (limits.even_empty and passed)):
        return start
    caught_up = ends == latest
    if not (caught_up and start.caught_up):
        passed = 0
    idle = tuple(
        start.idle_ms[task] + passed if limits.tick_ms and task not in moved else 0 for task in range(start.tasks)
    )
    return replace(
        start,
        batch=start.batch + 1,
        clock=clock,
        caught_up=caught_up,
        idle_ms=idle,
        ends=ends,
        restore=False,
        close_until=-1,
    )


def admit(start: Ends, latest: Ends, limits: Limits, probe: Probe) -> Ends:
    """Give the ends of a batch within the limits.

    The budget is shared in proportion to the backlog; a sparse partition's share has a floor (a tenth of an
    equal share), so that it is not the one that is cut. Where a partition is cut short, the others end at the
    smallest timestamp at the cuts: otherwise a sparse partition races ahead in time and dense ones become late.
    """
    backlog = {
        (topic, partition): latest[topic][partition] - offset
        for topic, offsets in start.items()
        for partition, offset in enumerate(offsets)
        if latest[topic][partition] > offset
    }
    total, budget = sum(backlog.values()), limits.max_records
    at = {partition: start[partition[0]][partition[1]] for partition in backlog}
    if limits.max_bytes and total > limits.max_bytes // LARGEST_RECORD:
        budget = min(budget, max(1, int(limits.max_bytes / max(1.0, probe.average_bytes(at, backlog)))))
    if total <= budget:
        return dict(latest)
    floor = max(1, budget // (10 * len(backlog)))
    cut = {partition: at[partition] + max(floor, waiting * budget // total) for partition, waiting in backlog.items()}
    cut = {partition: min(end, at[partition] + backlog[partition]) for partition, end in cut.items()}
    capped = {partition: end for partition, end in cut.items() if end < at[partition] + backlog[partition]}
    ends = _kept_together(at, cut, capped, probe)
    return {
        topic: tuple(ends.get((topic, partition), offset) for partition, offset in enumerate(offsets))
        for topic, offsets in start.items()
    }


def _kept_together(
    at: Mapping[Partition, int], cut: Mapping[Partition, int], capped: Mapping[Partition, int], probe: Probe
) -> Mapping[Partition, int]:
    """Give the ends of a batch, not beyond `cut`, that keep the partitions together in time; some progress is made.

    A late record at a cut is older than what all have read: then nothing could be read before it, and its predecessor
    tells the time too. If that is late as well, the partition that lags reads alone.
    """
    times = probe.timestamps(capped)
    if not times:
        return cut
    ends = _until(min(times.values()), at, cut, probe)
    if ends == at:
        before = probe.timestamps({partition: end - 1 for partition, end in capped.items()})
        times = {partition: max(time, before.get(partition, time)) for partition, time in times.items()}
        ends = _until(min(times.values()), at, cut, probe)
    if ends == at:
        laggard = min(times, key=lambda partition: times[partition])
        ends = {**at, laggard: cut[laggard]}
    return ends


def _until(time: int, at: Mapping[Partition, int], cut: Mapping[Partition, int], probe: Probe) -> dict[Partition, int]:
    reached = probe.offsets_for(dict.fromkeys(cut, time))
    return {partition: max(at[partition], min(end, reached[partition])) for partition, end in cut.items()}


Sizes = Callable[[Mapping[Partition, int]], Mapping[Partition, float]]
"""Average sizes of some records after these offsets, by partition; none where there are no records."""


def average_bytes(at: Mapping[Partition, int], backlog: Mapping[Partition, int], sizes: Sizes) -> float:
    """Give the average size of the records waiting: each partition's by its larger sample, at its start or middle.

    Args:
        at: the offsets they begin at; `backlog`: how many they are.
    """
    first = sizes(at)
    middle = sizes({partition: at[partition] + waiting // 2 for partition, waiting in backlog.items()})
    larger = {partition: max(first.get(partition, 0.0), middle.get(partition, 0.0)) for partition in backlog}
    return sum(larger[partition] * waiting for partition, waiting in backlog.items()) / sum(backlog.values())


def ends_before(latest: Ends, read: Ends) -> bool:
    """Tell whether a partition ends before what was read of it."""
    return any(
        end < done for topic, ends in read.items() for end, done in zip(latest.get(topic, ()), ends, strict=False)
    )


def check_partitions(start: SourceOffset, latest: Ends) -> None:
    """Refuse topics whose partitions no longer fit the tasks. Raises TopicChanged.

    More partitions are adopted while their number is a multiple of the tasks: every key stays with its task.
    """
    for topic, ends in start.ends.items():
        found = len(latest.get(topic, ()))
        if found < len(ends):
            raise TopicChanged(
                f"{topic}: {len(ends)} partitions were read so far, the topic has {found} now: it was deleted or "
                "recreated. Restore it, or start over with `forebay reset`"
            )
        if found % start.tasks:
            raise TopicChanged(
                f"{topic}: {found} partitions can't be spread over {start.tasks} tasks without moving keys between "
                f"them: use a multiple of {start.tasks} partitions, or start over with another number of tasks"
            )
