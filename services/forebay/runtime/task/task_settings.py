"""Settings of one state task."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Limits of one task, and its place in the topology.

    Args:
        name: `<application>-<sub-topology>-<task>`, used in errors.
        sub_topology_number: number of the task's sub-topology.
        number: number of the task.
        sends: names of the repartitions to which it forwards records.
        code_version: version of library, logic and settings, which is only reported.
        groups: number of the job's groups.
        max_state_bytes: bytes of the task's state above which the job stops.
        max_error_rate: share of the latest records that may fail; 0: none; 1: any.
        sub_topology: name of the task's sub-topology (see `SubTopology.identity`).
    """

    name: str
    sub_topology_number: int
    number: int
    sends: tuple[str, ...] = ()
    code_version: str = ""
    groups: int = 1
    max_state_bytes: int = 4_000_000_000
    max_error_rate: float = 1.0
    sub_topology: str = ""
