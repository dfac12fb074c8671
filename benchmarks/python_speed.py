"""CPU time of work that is typical of a record, with the Python that runs this. `make` chooses the fastest on PATH.

    python3 benchmarks/python_speed.py

The script prints microseconds. A Python that was built with profile-guided optimization needs two thirds of the time of
other builds, but its configuration does not show this. The exit code is 1 if Forebay can't be installed with this
Python. The script needs only the standard library.
"""

import importlib.util
import sys
import sysconfig
import time
from pathlib import Path

WITHOUT_HEADERS = 10
"""Python's header file. Without it, native code can't be compiled, and a record takes a multiple of the time."""

ROUNDS = 7


class Row:
    """A row that is replaced at each event."""

    __slots__ = ("actions", "count", "last")

    def __init__(self, count: int, last: int, actions: tuple[str, ...]) -> None:
        self.count = count
        self.last = last
        self.actions = actions


def process(events: int) -> int:
    """Count events of 1,000 keys in rows, as typical logic does. Return the number of rows."""
    rows: dict[str, Row] = {}
    for number in range(events):
        key = f"user-{number % 1_000}"
        row = rows.get(key)
        if row is None:
            row = Row(0, 0, ())
        action = "click" if number % 3 else "view"
        actions = row.actions if action in row.actions else (*row.actions, action)
        rows[key] = Row(row.count + 1, max(row.last, number), actions)
    return len(rows)


def cost() -> int:
    """Return the smallest CPU time (µs) of several rounds."""
    took = []
    for _ in range(ROUNDS):
        before = time.process_time()
        process(20_000)
        took.append(time.process_time() - before)
    least = min(took) * 1e6
    headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return int(least if headers else least * WITHOUT_HEADERS)


def main() -> None:
    """Print the CPU time, or exit with code 1."""
    if sys.version_info < (3, 11) or importlib.util.find_spec("ensurepip") is None:
        sys.exit(1)
    print(cost())


if __name__ == "__main__":
    main()
