"""Histories of transactions as the clients observed them, for the checks."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Attempt:
    """A transaction as its client observed it.

    Args:
        answer: The broker's response: "committed", "aborted" or "fenced". Until then it is "unknown".
        offsets: Offsets that were sent to the marker group, by topic and partition.
    """

    name: str
    epoch: int
    answer: str = "unknown"
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
