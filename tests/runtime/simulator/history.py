"""The broker's answers to clients about each of their transactions, for the checkers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Attempt:
    """One transaction as its client sees it.

    Args:
        answer: "unknown" until the answer is "committed", "aborted" or "fenced".
        offsets: that were sent to the marker group, by topic and partition.
    """

    name: str
    epoch: int
    answer: str = "unknown"
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)
