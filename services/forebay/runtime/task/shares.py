"""How the records of one commit are divided among a group's tasks."""

from __future__ import annotations

from collections.abc import Sequence


def fair_shares(most: int, waiting: Sequence[int]) -> list[int]:
    """Return how many records each task may process: all of its own, or an equal share of what the others leave.

    Each task may process at least 1. The sub-topologies of a job therefore advance together, and a sub-topology that
    merges by time gets records of all of its senders.

    Args:
        most: number of records of the commit.
        waiting: number of queued records of each task.
    """
    if sum(waiting) <= most:
        return list(waiting)
    shares = [0] * len(waiting)
    smallest_first = sorted(range(len(waiting)), key=waiting.__getitem__)
    for place, index in enumerate(smallest_first):
        shares[index] = max(1, min(waiting[index], most // (len(waiting) - place)))
        most -= shares[index]
    return shares
