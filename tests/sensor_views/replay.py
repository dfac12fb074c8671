"""An independent implementation of the service's rules, with which outputs and stores are compared.

Sums are fractions, so that no result depends on the order in which doubles are added.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, str, Value, int]
"""Topic, key, value, timestamp in ms."""
Total = tuple[float, int, Fraction]
"""Average, number and sum of the readings."""

VIEWS = {"avg_readings": "sensor", "part_avg": "area"}


def replay(
    records: Iterable[Record],
    dedupe_retention_ms: int = 600_000,
    task_of: Callable[[str], int] = lambda _: 0,
) -> tuple[list[Output], dict[str, dict[str, Total]]]:
    """Return the rows in order, and the final contents of the views' stores, by view.

    The stores, and the rows of one sensor, are valid for any number of tasks.

    Args:
        records: Records in the order in which their tasks process them.
        task_of: Function that returns the task of a key. Each task has a separate time and separate repetitions.
    """
    outputs: list[Output] = []
    totals: dict[str, dict[str, tuple[int, Fraction, int]]] = {view: {} for view in VIEWS}
    stream_time: dict[int, int] = {}
    repetitions: dict[int, Repetitions] = {}
    for key, value, timestamp in records:
        if key is None or value is None or timestamp < 0 or not _decodable(value):
            continue
        task = task_of(key)
        known = repetitions.setdefault(task, Repetitions(dedupe_retention_ms))
        time = max(stream_time.get(task, -1), timestamp)
        if known.known(value.get("event_id"), time):
            continue
        stream_time[task] = time
        if key != value["sensor"] or "" in (value["sensor"], value["area"]) or not math.isfinite(value["reading"]):
            continue
        known.accept(value.get("event_id"), time)
        for view, column in VIEWS.items():
            group = value[column]
            count, total, newest = totals[view].get(group, (0, Fraction(0), -1))
            totals[view][group] = count, total, newest = (
                count + 1,
                total + Fraction(value["reading"]),
                max(newest, timestamp),
            )
            outputs.append((view, group, {column: group, "avg_reading": float(total) / count}, newest))
    return outputs, {
        view: {group: (float(total) / count, count, total) for group, (count, total, _) in groups.items()}
        for view, groups in totals.items()
    }


def stored_totals(rows: dict[str, Value]) -> dict[str, Total]:
    """Return a view's stored rows in the replay's form."""
    return {
        group: (
            row["avg_reading"],
            row["avg_reading_total"]["count"],
            sum(map(Fraction, row["avg_reading_total"]["sum"]), Fraction(0)),
        )
        for group, row in rows.items()
    }


def _decodable(value: Value) -> bool:
    texts = all(isinstance(value.get(name), str) for name in ("sensor", "area"))
    return texts and isinstance(value.get("reading"), float)
