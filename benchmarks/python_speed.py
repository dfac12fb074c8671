"""What a record's kind of work costs with the Python that runs this: `make` takes the cheapest of those on PATH.

    python3 benchmarks/python_speed.py

Prints microseconds. A build with profile-guided optimization takes two thirds of one without; a Python's configuration
does not show which it is. Ends with 1 if Forebay can't be installed with it. Needs only the standard library.
"""

import importlib.util
import sys
import sysconfig
import time
from pathlib import Path

WITHOUT_HEADERS = 10
"""Native code can't be compiled without Python's headers: a record costs a multiple."""

ROUNDS = 7


class Row:
    """A row that is replaced at each event."""

    __slots__ = ("actions", "count", "last")

    def __init__(self, count: int, last: int, actions: tuple[str, ...]) -> None:
        self.count = count
        self.last = last
        self.actions = actions


def process(events: int) -> int:
    """Count events of 1,000 keys in rows as logic does; return the rows."""
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
    """Return the least of some rounds, in microseconds of CPU time."""
    took = []
    for _ in range(ROUNDS):
        before = time.process_time()
        process(20_000)
        took.append(time.process_time() - before)
    least = min(took) * 1e6
    headers = Path(sysconfig.get_path("include"), "Python.h").is_file()
    return int(least if headers else least * WITHOUT_HEADERS)


def main() -> None:
    """Print the cost, or end with 1."""
    if sys.version_info < (3, 11) or importlib.util.find_spec("ensurepip") is None:
        sys.exit(1)
    print(cost())


if __name__ == "__main__":
    main()
