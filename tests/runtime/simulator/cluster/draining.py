"""Checks of runs with end offsets (`--trigger available-now`), which must not end normally with unread records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.runtime.protocol.position import POSITION, TaskPosition
from tests.runtime.simulator.worker import logs

if TYPE_CHECKING:
    from tests.runtime.simulator.cluster.driver import Driver
    from tests.runtime.simulator.world import World

_ENDED_BY_ANOTHER = "has ended the leases of"


def is_refused(driver: Driver) -> bool:
    """Return whether a run has ended with an error because another driver ended its leases."""
    return driver.stopped is not None and _ENDED_BY_ANOTHER in str(driver.stopped)


def unread(world: World, driver: Driver) -> list[str]:
    """Return the records up to the end offsets that a run has not read although it has ended without an error."""
    read: dict[tuple[str, int], int] = {}
    for log in logs(world.job):
        for record in world.broker.committed(log.internal):
            if record.key_ == POSITION:
                for topic, partition, end in TaskPosition.from_json(record.value_ or b"").ends:
                    read[topic, partition] = max(end, read.get((topic, partition), 0))
    return [
        f"a run ended without an error at {read.get((topic, partition), 0)} of {end} records of {topic}-{partition}"
        for topic, ends in driver.ends.items()
        for partition, end in enumerate(ends)
        if read.get((topic, partition), 0) < end
    ]
