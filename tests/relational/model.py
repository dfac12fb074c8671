"""A model that computes the tables of a graph from all records at once, without stores, changes or operator order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from tests.relational.graphs import KEYS, WINDOWS, Sent, Step, Verb

Rows = dict[str, int]


def passes(number: int, value: int) -> bool:
    """Return whether a filter passes a value."""
    return value % 3 != number % 3


def map_value(number: int, value: int) -> int:
    """Return the mapped value."""
    return (value * 7 + number) % 97


def join_values(one: int | None, other: int | None) -> int:
    """Return the joined value of two values."""
    return ((7 if one is None else one) * 3 + (5 if other is None else other) * 5) % 97


def foreign_key(value: int) -> str | None:
    """Return the key of the right table's row."""
    return None if value % 4 == 0 else KEYS[value % 3]


def group(number: int, value: int) -> str:
    """Return the group of a row: one of three, or the only one."""
    return KEYS[value % 3] if number % 2 else KEYS[0]


def add_row(total: int | None, value: int) -> int:
    """Return count and sum in one number, with one more row."""
    return (total or 0) + 1_000 + value


def remove_row(total: int, value: int) -> int | None:
    """Return count and sum with one row less, or None if no row is left."""
    return total - 1_000 - value or None


def window_row(key: str, start: int, end: int) -> str:
    """Return the text key of a window's row."""
    return f"{key}@{start}-{end}"


def tables(steps: Sequence[Step], records: Sequence[Sent]) -> list[Rows]:
    """Return the rows of each step after all records."""
    tables: list[Rows] = []
    for step in steps:
        own = [record for record in records if record.topic == step.topic]
        if step.verb is Verb.ENRICH:
            tables.append(_enrich(steps, step, records))
        elif step.topic:
            tables.append(_of_topic(step, own))
        else:
            tables.append(_of_tables(step, [tables[at] for at in step.of]))
    return tables


def _of_topic(step: Step, own: Sequence[Sent]) -> Rows:
    if step.verb in WINDOWS:
        return _count_windows(step, own)
    rows: dict[str, int | None] = {}
    if step.verb is Verb.SUM:
        for record in own:
            if record.value is not None:
                rows[record.key] = (rows.get(record.key) or 0) + record.value
    else:
        for record in own if step.verb is Verb.TABLE else sorted(own, key=lambda each: each.time):
            rows[record.key] = record.value
    return {key: value for key, value in rows.items() if value is not None}


def _enrich(steps: Sequence[Step], step: Step, records: Sequence[Sent]) -> Rows:
    """Return the sums of a topic's records, each joined with the table as it is after that record."""
    rows: Rows = {}
    for at, record in enumerate(records):
        if record.topic == step.topic and record.value is not None:
            before = steps[: step.of[0] + 1]
            other = tables(before, records[: at + 1])[step.of[0]].get(record.key)
            rows[record.key] = rows.get(record.key, 0) + join_values(record.value, other)
    return rows


def _count_windows(step: Step, own: Sequence[Sent]) -> Rows:
    """Return one row per window: its count, joined with the same count if that passes the filter."""
    counts: Counter[tuple[str, int, int]] = Counter()
    for key in KEYS:
        times = [record.time for record in own if record.key == key and record.value is not None]
        for start, end in _WINDOWS[step.verb](times):
            is_open = step.verb in (Verb.TUMBLING, Verb.HOPPING)
            counts[key, start, end] = sum(start <= time < end if is_open else start <= time <= end for time in times)
    rows: Rows = {}
    for (key, start, end), count in counts.items():
        other = count if passes(step.number, count) else None
        rows[window_row(key, start, end)] = add_row(None, join_values(count, other))
    return rows


def _hopping(times: Sequence[int]) -> set[tuple[int, int]]:
    return {(start, start + 6) for time in times for start in range(0, time + 1, 3) if start + 6 > time}


def _sliding(times: Sequence[int]) -> set[tuple[int, int]]:
    """Return the sliding windows: one ends at each record, and one begins right after it if that contains a record."""
    own = {max(0, time - 5) for time in times}
    behind = {time + 1 for time in times if any(time + 1 <= other <= time + 6 for other in times)}
    return {(start, start + 5) for start in own | behind}


def _sessions(times: Sequence[int]) -> set[tuple[int, int]]:
    sessions: list[tuple[int, int]] = []
    for time in sorted(times):
        if sessions and time - sessions[-1][1] <= 3:
            sessions[-1] = (sessions[-1][0], time)
        else:
            sessions.append((time, time))
    return set(sessions)


_WINDOWS: dict[Verb, Callable[[Sequence[int]], set[tuple[int, int]]]] = {
    Verb.TUMBLING: lambda times: {(time // 5 * 5, time // 5 * 5 + 5) for time in times},
    Verb.HOPPING: _hopping,
    Verb.SLIDING: _sliding,
    Verb.SESSIONS: _sessions,
}


def _of_tables(step: Step, sides: Sequence[Rows]) -> Rows:
    rows = sides[0]
    match step.verb:
        case Verb.FILTER:
            return {key: value for key, value in rows.items() if passes(step.number, value)}
        case Verb.MAP:
            return {key: map_value(step.number, value) for key, value in rows.items()}
        case Verb.GROUP:
            totals: Rows = {}
            for value in rows.values():
                name = group(step.number, value)
                totals[name] = add_row(totals.get(name), value)
            return totals
        case Verb.FOREIGN | Verb.LEFT_FOREIGN:
            others = {key: sides[1].get(foreign_key(value) or "") for key, value in rows.items()}
            is_left = step.verb is Verb.LEFT_FOREIGN
            return {
                key: join_values(value, others[key])
                for key, value in rows.items()
                if is_left or others[key] is not None
            }
        case Verb.JOIN | Verb.LEFT_JOIN | Verb.OUTER_JOIN:
            keys = {Verb.JOIN: rows.keys() & sides[1].keys(), Verb.LEFT_JOIN: rows.keys()}
            return {
                key: join_values(rows.get(key), sides[1].get(key))
                for key in keys.get(step.verb, rows.keys() | sides[1].keys())
            }
    return rows
