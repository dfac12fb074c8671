"""Tables whose rows do not show the timestamps with which they were forwarded.

If the other side of a LEFT or FULL JOIN is deleted, the row without it is forwarded with the timestamp of the deletion.
The join stores no rows, and neither side has this timestamp any more.
"""

from __future__ import annotations

from forebay.sql.catalog import Source
from forebay.sql.former_rows import StepOf
from forebay.sql.plan import Filtered, Joined, Projected, Scan, Step


class Unmatched:
    """A search for such joins.

    Args:
        step_of: Returns the last step of the query that writes a source.
    """

    def __init__(self, step_of: StepOf) -> None:
        self._step_of = step_of
        self._known: dict[Source, bool] = {}
        """Results by source. Without them, repeated self-joins would take exponential time."""

    def has_rows(self, step: Step) -> bool:
        """Return whether the rows of a table are computed from a LEFT or FULL JOIN of tables that stores none."""
        while isinstance(step, Filtered | Projected):
            step = step.parent
        if isinstance(step, Scan):
            return step.source.is_derived and step.source.is_table and self._has_rows(step.source)
        # A foreign-key join stores its rows.
        if not isinstance(step, Joined) or step.foreign_key is not None:
            return False
        return step.kind != "INNER" or self.has_rows(step.left) or self.has_rows(step.right)

    def _has_rows(self, source: Source) -> bool:
        if source not in self._known:
            self._known[source] = source.timestamp is None and self.has_rows(self._step_of(source))
        return self._known[source]
