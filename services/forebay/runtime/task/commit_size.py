"""The size of commits: smaller after each commit that was too large, and larger again after successful commits."""

from __future__ import annotations

_FEWEST = 4
_MOST = 256


class CommitSize:
    """The size of commits as a share of their limits: a power of two.

    The first failure halves it. Further failures before a success divide it by 4, by 16 and so on, because each failure
    costs a restore: 50,000 records are reduced to one in four failures, not in sixteen. A few successful commits double
    it. If a larger commit fails at once, the next attempt to grow waits for twice as many successful commits.

    Args:
        records: largest number of records of a commit. It can be halved until one record is left.
    """

    def __init__(self, records: int) -> None:
        self._most_halvings = max(0, records.bit_length() - 1)
        self._halvings = 0
        self._failures = self._successes = 0
        self._needed = _FEWEST
        self._has_grown = False

    def share_of(self, limit: int) -> int:
        """Return the share of a limit, at least 1."""
        return max(1, limit >> self._halvings)

    def on_commit(self) -> None:
        """Record a successful commit."""
        self._failures = 0
        self._successes += 1
        if self._halvings and self._successes >= self._needed:
            self._halvings, self._successes, self._has_grown = self._halvings - 1, 0, True

    def on_failure(self) -> None:
        """Record a commit that failed because it was too large."""
        if not self._failures:
            grew_in_vain = self._has_grown and self._successes < _FEWEST
            self._needed = min(2 * self._needed, _MOST) if grew_in_vain else _FEWEST
        self._halvings = min(self._halvings + (1 << min(self._failures, 3)), self._most_halvings)
        self._failures, self._successes = self._failures + 1, 0
