"""The parameters of a run of the simulator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setup:
    """The job of a run, and the kinds and numbers of faults.

    Args:
        topology: Name of a job of JOBS.
        is_live: Whether the input arrives while the job runs. If not, all input exists, and the job ends by itself.
        trouble: Share of points at which a fault happens.
        turns: Number of turns in which faults may happen.
        loses_checkpoint: Whether the checkpoint is lost once, and the state is restored from the changelogs.
        read_ahead: Number of records that a group queues in addition to the nine of a commit.
        late_ends: Share of commits of which a copy of the EndTxn request arrives late, after the client has retried it.
            For other transactional requests, the share is a thirtieth of it.
        edits: Number of releases that add a sub-topology before the others, or remove it again.
        formats: Average number of releases that send the records of repartition topics in another format.
        waves: Number of parts of the input. The first part exists when the job starts. Each of the others arrives while
            the job is down, after the previous parts have been processed.
        lease_seconds: Duration of most leases, after which the driver ends them.
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
    formats: int = 0
