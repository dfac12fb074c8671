"""What a run of the simulator consists of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setup:
    """What is run, and how many faults happen.

    Args:
        topology: name of one of JOBS.
        is_live: whether the input arrives while the job runs. If not, all input exists, and the job ends by itself.
        trouble: share of points at which a fault happens. turns: during which faults may happen.
        loses_checkpoint: whether the checkpoint is lost once, and the state restored from the changelogs.
        read_ahead: records that a group queues in addition to the nine of a commit.
        late_ends: share of commits whose EndTxn arrives late, after the client repeated it. Of the other
            transactional requests a thirtieth of that share is late.
        edits: how often a release adds a sub-topology in front of the others, or takes it away again.
        waves: parts of the input. The first is there as the job starts; each other comes while the job is down, after
            all that was there has been used.
        lease_seconds: how long most leases last, until the driver ends them.
    """

    topology: str = "sum"
    partitions: int = 5
    tasks: int = 2
    groups: int = 1
    records: int = 120
    is_live: bool = False
    trouble: float = 0.0
    turns: int = 250
    loses_checkpoint: bool = False
    read_ahead: int = 30
    edits: int = 0
    late_ends: float = 0.0
    waves: int = 1
    lease_seconds: float = 1.5
