"""The result that a lease returns to the driver when it ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """The result of a lease that has ended.

    Args:
        planned_at: when (ms) the lease was planned.
        is_cut_short: whether the lease has end offsets, and was ended before its tasks had reached them.
        reports: the tasks' statistics as JSON; none if the lease was ended before it began.
    """

    planned_at: int
    is_cut_short: bool = False
    reports: Sequence[str] = ()

    def to_json(self) -> str:
        """Return the result as the row that Spark's task returns."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> LeaseResult:
        """Read a row; ignore fields that a newer release added."""
        # While a cluster is upgraded, executors may already be of the next release.
        return cls(**{name: value for name, value in json.loads(text).items() if name in _KNOWN})


_KNOWN = {field.name for field in fields(LeaseResult)}
