"""Jobs divide the available memory. If there are too many jobs, the error says how many fit."""

import pytest

from forebay.demo.errors import DemoError
from forebay.demo.memory import JOB_MB, LEAST_HEAP_MB, OUTSIDE_HEAP_MB, available_mb, heap_mb


@pytest.mark.parametrize(
    ("jobs", "available", "heap"),
    [(1, 32_000, 1024), (9, 32_000, 1024), (5, 2_400, 640), (9, 3_240, 512), (1, 1_220, 512)],
)
def test_heaps(jobs: int, available: int, heap: int) -> None:
    assert heap_mb(jobs, available) == heap
    assert heap + OUTSIDE_HEAP_MB + jobs * JOB_MB <= available


@pytest.mark.parametrize(("jobs", "available", "fitting"), [(5, 2_000, 4), (1, 500, 1), (9, 2_000, 4)])
def test_too_many(jobs: int, available: int, fitting: int) -> None:
    with pytest.raises(DemoError, match=f"{available:,} MB are available: name at most {fitting} services"):
        heap_mb(jobs, available)


def test_this_machine() -> None:
    assert available_mb() > LEAST_HEAP_MB
