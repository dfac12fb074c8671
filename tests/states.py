"""The state that a job leaves to the next start."""

from __future__ import annotations

from forebay.in_memory.loop import Left
from forebay.testing import TestDriver


def state_of(driver: TestDriver) -> dict[tuple[int, int], Left]:
    """Return the rows and the position of each task, for `TestDriver.restore`."""
    return {
        task.place: (list(task.table.scan(b"")), task.position)
        for sub_topology in driver.sub_topologies
        for task in sub_topology.state_tasks
    }
