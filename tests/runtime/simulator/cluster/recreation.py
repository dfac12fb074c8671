"""Recreation of an input while the job runs. The job must stop, and must not use records of the new topic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from forebay.runtime.driver.query_failures import JobStopped
from tests.runtime.simulator.topologies import INPUT, OUTPUT, JsonCodec, Number

if TYPE_CHECKING:
    from tests.runtime.simulator.cluster.world import Cluster

_KEY = b"recreated"
_SILENT_SECONDS = 1.5
"""Time in which the new topic can't be read. It is longer than the interval (1 s) in which workers compare the topics,
because a topic can't be deleted, recreated, found and filled within a second."""
_MORE_RECORDS = 30
_SECONDS = 60.0
"""Time (s) after the last fault within which the job must stop."""


class Recreation:
    """Recreation of a cluster's input, once, at a time that the seed determines."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._at = cluster.random.uniform(5.0, cluster.leases.seconds)
        self._is_done = False

    def draw(self) -> None:
        """Recreate the input when its time has come. The new topic soon has records at the offsets to read next."""
        cluster = self._cluster
        if self._is_done or cluster.broker.now < self._at:
            return
        self._is_done = True
        cluster.to_come.clear()
        places = [place for place in cluster.broker.partitions if place[0] == INPUT]
        ends = {place: cluster.broker.partitions[place].end for place in places}
        cluster.broker.create(INPUT, len(places), _SILENT_SECONDS)
        if cluster.random.random() < 0.5:
            # The broker also deletes the offsets that groups have committed.
            cluster.broker.marked.clear()
        for place, end in ends.items():
            for number in range(end + _MORE_RECORDS):
                cluster.broker.append(place, _KEY, JsonCodec().encode(Number(9_000, 1 + number)), 9_000)

    def run(self) -> None:
        """Run without faults until the job has stopped."""
        cluster = self._cluster
        try:
            while cluster.broker.now < cluster.calm_since + _SECONDS:
                cluster.turn()
            cluster.findings.append(f"the job has not stopped within {_SECONDS:.0f} s")
        except JobStopped:
            pass

    def check(self) -> list[str]:
        """Return the outputs that the job has committed for records of the new topic."""
        used = [record for record in self._cluster.broker.committed(OUTPUT) if record.key_ == _KEY]
        return [f"{len(used)} records of the recreated topic were used"] if used else []
