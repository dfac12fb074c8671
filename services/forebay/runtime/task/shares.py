"""How the records of one commit are divided among a group's tasks."""

from __future__ import annotations

from collections.abc import Sequence


def fair_shares(most: int, waiting: Sequence[int]) -> list[int]:
    """Return how many records each task may process: all it has, or else equal shares of what others leave of `most`.

    So the sub-topologies of a job advance together, and one that merges by time has all of its senders. At least 1
    each.

    Args:
        waiting: records queued of each task.
    """
    if sum(waiting) <= most:
        return list(waiting)
    shares = [0] * len(waiting)
    smallest_first = sorted(range(len(waiting)), key=waiting.__getitem__)
    for place, index in enumerate(smallest_first):
        shares[index] = max(1, min(waiting[index], most // (len(waiting) - place)))
        most -= shares[index]
    return shares
