"""Fixtures with query servers that share the tasks of a job, whose stores have rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from forebay.stores.keys import join_key
from forebay.testing.cell import Cell
from tests.queries.parts.parted import Parted, keys_of, owner, publish, written_tasks
from tests.queries.written import WrittenTask

KEYS = tuple(key for task in range(5) for key in keys_of(task, 6))
PATIENT_SECONDS = 20.0
JOINED = tuple(join_key(f"server-{number}", "cpu") for number in range(12))


@pytest.fixture(scope="module")
def tasks() -> list[WrittenTask]:
    return written_tasks()


@pytest.fixture(scope="module")
def filled_tasks(tasks: list[WrittenTask]) -> list[WrittenTask]:
    """Fill every store, with each key in the task of its partition."""
    for at, key in enumerate(KEYS):
        task = tasks[owner(key)]
        task.at(at)
        for name in ("plain", "recent", "lists"):
            task.store(name).put(key, Cell(f'"{name} {key}"'))
        task.store("stamped").put(key, Cell("1"), at)
        task.store("expiring").put(key, Cell("2"))
        for start in (10, 20, 30):
            task.store("sessions").put(key, start, start + at % 3, Cell("4"))
        task.store("versions").put(key, Cell("5"), at)
        task.store("versions").put(key, None if at % 2 else Cell("6"), at + 3)
        task.store("lists").put(key, Cell("7"))
    for at, key in enumerate(JOINED):
        for start in (10, 20, 30):
            tasks[owner(key)].store("windows").put(key, Cell("3"), start, start + at % 10)
    publish(tasks)
    return tasks


@pytest.fixture(scope="module")
def shared_parts(filled_tasks: list[WrittenTask]) -> Iterator[Parted]:
    """Yield the parts of a job. Tests share them and must not break them."""
    parts = Parted([task.replica for task in filled_tasks], seconds=PATIENT_SECONDS)
    yield parts
    parts.close()


@pytest.fixture
def patience() -> float:
    """Return the time (s) that a part may take to respond.

    A part that takes longer receives no further request for one second, so that on a busy machine one slow response
    would fail many tests. Only modules in which parts hang override this with a shorter time.
    """
    return PATIENT_SECONDS


@pytest.fixture
def parts(patience: float) -> Iterator[Parted]:
    """Yield the parts of a job with one row in each task. The test may break them."""
    own = written_tasks()
    for task in own:
        task.store("plain").put(keys_of(task.task, 1)[0], Cell(str(task.task)))
    publish(own)
    result = Parted([task.replica for task in own], seconds=patience)
    result.tasks = own
    yield result
    result.close()
