"""An independent implementation of the service's rules, with which outputs and stores are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tests.repetitions import Repetitions

Value = dict[str, Any]
Record = tuple[str | None, Value | None, int]
"""Key, value by field name, event time in ms."""
Output = tuple[str, Value, int]


def replay(
    records: Iterable[Record],
    dedupe_retention_ms: int = 600_000,
    task_of: Callable[[str], int] = lambda _: 0,
) -> tuple[list[Output], dict[str, dict[str, Value]]]:
    """Return the changes in order, and the final store.

    The store, and the changes of one title without their timestamps, are valid for any number of tasks.

    Args:
        records: Records in the order in which their tasks process them.
        task_of: Function that returns the task of a key. Each task has a separate time and separate repetitions.
    """
    outputs: list[Output] = []
    table: dict[str, Value] = {}
    times: dict[str, int] = {}
    stream_time: dict[int, int] = {}
    repetitions: dict[int, Repetitions] = {}
    for key, value, timestamp in records:
        if key is None or value is None or timestamp < 0 or not isinstance(value.get("title"), str):
            continue
        task = task_of(key)
        known = repetitions.setdefault(task, Repetitions(dedupe_retention_ms))
        time = max(stream_time.get(task, -1), timestamp)
        if known.known(value.get("event_id"), time):
            continue
        stream_time[task] = time
        title = value["title"]
        if title == "":
            continue
        known.accept(value.get("event_id"), time)
        if value.get("ticket_total_value") is None:
            continue
        before = table.get(title)
        table[title] = {"title": title, "tickets_sold": 1 if before is None else before["tickets_sold"] + 1}
        times[title] = max(times.get(title, -1), timestamp)
        operation = "INSERT" if before is None else "UPDATE"
        change = {"operation": operation, "before": before, "after": table[title], "timestamp": times[title]}
        outputs.append((title, change, times[title]))
    return outputs, {"tickets-sold": table}
