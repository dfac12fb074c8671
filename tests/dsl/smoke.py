"""The job of Kafka Streams' smoke test: an echo, four aggregates, windows and their final results, joins, a count.

The job writes its aggregates to topics and reads these topics again as tables.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forebay.builder import Topology, Windowed, job
from forebay.operators import Fold, UntilWindowCloses
from forebay.time import tumbling

TASKS = 4
KEYS = 30
DATA = "smoke-data"
DAY = 86_400_000
SHORT = 2_000
START = 1_735_689_600_000 - 1_735_689_600_000 % DAY
STEP = 50
"""Event time from record to record (ms). Event time is faster than the clock, so no record is late."""

MIN: Fold[int, int] = Fold(lambda: 1 << 62, lambda _, n, least: min(n, least))
MAX: Fold[int, int] = Fold(lambda: -(1 << 62), lambda _, n, most: max(n, most))
SUM: Fold[int, int] = Fold(lambda: 0, lambda _, n, total: total + n)

Sent = Mapping[str, Mapping[Any, list[Any]]]
"""Values by topic and key, in order; a windowed key is (key, start)."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No settings."""


def build(_: Nothing) -> Topology:
    t = Topology()
    data = t.stream(DATA, int)
    data.to("smoke-echo")
    by_key, day, short = data.group_by_key(), tumbling(DAY), tumbling(SHORT, grace_ms=30_000)
    days = by_key.windowed_by(day)
    tables = {
        "min": days.aggregate(MIN, int, store="smoke-min"),
        "max": days.aggregate(MAX, int, store="smoke-max"),
        "sum": days.aggregate(SUM, int, store="smoke-sum"),
        "cnt": days.count(store="smoke-cnt"),
    }
    for name, table in tables.items():
        table.to_stream().map(lambda key, n: (key.key, n), int, key=str).to(f"smoke-{name}")
    tables["min"].to_stream().to("smoke-min-raw")
    tables["min"].suppress(UntilWindowCloses(day), store="smoke-min-held").to_stream().to("smoke-min-suppressed")
    counts = by_key.windowed_by(short).count(store="smoke-sws")
    counts.to_stream().to("smoke-sws-raw")
    counts.suppress(UntilWindowCloses(short), store="smoke-sws-held").to_stream().to("smoke-sws-suppressed")
    least, most, total, count = (
        t.table(f"smoke-{name}", int, store=f"smoke-{name}-rows") for name in ("min", "max", "sum", "cnt")
    )
    most.join(least, lambda high, low: high - low, int).to_stream().to("smoke-dif")
    total.join(count, lambda all_of_it, n: all_of_it // n, int).to_stream().to("smoke-avg")
    count.group_by(lambda _, n: n, int).count(store="smoke-tagg").to_stream().to("smoke-tagg")
    return t


JOB = job(Nothing, build)


def records() -> Iterator[tuple[str, int, int]]:
    """Yield (key, value, timestamp): each key has each value once, in a pseudo-random order."""
    for number in range(DAY // STEP):
        turn, key = divmod(number, KEYS)
        yield f"k{key}", (turn * 7_919 + key * 31) % 10_007, START + number * STEP


def flush(keys: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Yield records that close all windows. There must be a key for each partition."""
    for key in keys:
        yield key, 0, START + 3 * DAY


def expected_results(sent: Iterable[tuple[str, int, int]]) -> dict[str, dict[Any, list[Any]]]:
    """Return the values, by output topic and key, of the outputs that depend only on the order of one key's records."""
    results: dict[str, dict[Any, list[Any]]] = defaultdict(lambda: defaultdict(list))
    values: dict[str, list[int]] = defaultdict(list)
    windows: Counter[tuple[str, int]] = Counter()
    sums: Counter[str] = Counter()
    for key, value, at in sent:
        values[key].append(value)
        sums[key] += value
        least = min(values[key])
        most = max(values[key])
        window = key, at - at % SHORT
        windows[window] += 1
        now = {"echo": value, "min": least, "max": most, "sum": sums[key], "cnt": len(values[key])}
        for name, result in now.items():
            results[f"smoke-{name}"][key].append(result)
        results["smoke-min-raw"][key, START].append(least)
        results["smoke-sws-raw"][window].append(windows[window])
    results["smoke-min-suppressed"] = {(key, START): [min(of_key)] for key, of_key in values.items()}
    results["smoke-sws-suppressed"] = {window: [count] for window, count in windows.items()}
    return results


def last_values(sent: Iterable[tuple[str, int, int]]) -> dict[str, dict[Any, Any]]:
    """Return the last value of each key for the outputs whose earlier values depend on how two topics are merged."""
    values: dict[str, list[int]] = defaultdict(list)
    for key, value, _ in sent:
        values[key].append(value)
    sizes = Counter(map(len, values.values()))
    return {
        "smoke-dif": {key: max(of_key) - min(of_key) for key, of_key in values.items()},
        "smoke-avg": {key: sum(of_key) // len(of_key) for key, of_key in values.items()},
        "smoke-tagg": dict(sizes),
    }


def plain(key: Any) -> Any:
    """Return a key as `Sent` contains it: a windowed key as (key, start)."""
    return (key.key, key.window.start) if isinstance(key, Windowed) else key


def check(outputs: Sent, sent: list[tuple[str, int, int]], closing: set[str]) -> None:
    """Compare all outputs with the expected ones, except for the outputs of the records that close windows."""
    of_records = {
        topic: {
            key: values
            for key, values in by_key.items()
            if key not in closing and not (isinstance(key, tuple) and key[0] in closing)
        }
        for topic, by_key in outputs.items()
    }
    for topic, wanted in expected_results(sent).items():
        assert of_records[topic] == wanted, f"{topic}: {_difference(of_records[topic], wanted)}"
    for topic, last in last_values(sent).items():
        newest = {key: values[-1] for key, values in of_records[topic].items() if values[-1]}
        if topic == "smoke-tagg":
            newest[1] = newest.get(1, 0) - len(closing)
            newest = {size: count for size, count in newest.items() if count}
        assert newest == last, topic


def _difference(found: Mapping[Any, list[Any]], wanted: Mapping[Any, list[Any]]) -> str:
    key = next(key for key in sorted(found.keys() | wanted.keys(), key=str) if found.get(key) != wanted.get(key))
    return f"{key} has {found.get(key)}, not {wanted.get(key)}"
