"""The computed size of a task's state is close to the memory that the process uses for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.long

MEASURE = """
import gc, os, sys
import psutil
from forebay.processor.dedupe import Dedupe
from forebay.processor.timers import Timers
from forebay.stores.memory import MemoryTable

def fill_table(size):
    table = MemoryTable()
    for start in range(0, 200_000, 5_000):
        keys = (b"user-%08d" % (number * 7919 % 200_000) for number in range(start, start + 5_000))
        table.apply([(key, os.urandom(size)) for key in keys], b"t")
    return table, table.footprint_bytes

def fill_ids(count):
    dedupe = Dedupe(600_000)
    for number in range(count):
        dedupe.add(dedupe.digest(f"event-{number}"), number // 10)
    dedupe.settle(1)
    return dedupe, dedupe.footprint_bytes

def fill_timers(count):
    timers = Timers()
    for number in range(count):
        timers.schedule("idle", f"user-{number:08d}", 1_735_689_600_000 + number)
    timers.settle()
    return timers, timers.footprint_bytes

gc.collect()
before = psutil.Process().memory_info().rss
kept, said = globals()[sys.argv[1]](int(sys.argv[2]))
gc.collect()
print((psutil.Process().memory_info().rss - before) / said)
"""


@pytest.mark.parametrize(
    ("what", "size"),
    [("fill_table", 20), ("fill_table", 200), ("fill_table", 1_000), ("fill_ids", 200_000), ("fill_timers", 100_000)],
)
def test_the_counted_size_is_that_in_memory(what: str, size: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, what, str(size)], capture_output=True, text=True, check=True, timeout=120
    )
    assert 0.75 < float(done.stdout) < 1.25
