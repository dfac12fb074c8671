"""A task group inside Spark: a transformWithState processor.

Spark unpickles it also where it only asks for the states; what works is imported where work comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.runtime.outliving import is_supervised, leave_driver
from forebay.runtime.spark.other_code import told
from forebay.runtime.spark.sealed import SealedSpec

if TYPE_CHECKING:
    from forebay.runtime.spec import JobSpec

OUTPUT_SCHEMA = "reports string"

States = tuple[Any, Any]
"""Spark's map states of the tasks and of their blocks."""


def declared_states(handle: StatefulProcessorHandle) -> States:
    """Return the states that snapshots are kept in."""
    return (
        handle.getMapState("tasks", "part int, task int", "data binary"),
        handle.getMapState("blocks", "part int, task int, number long", "data binary"),
    )


class LeaseHolder(StatefulProcessor):
    """Holds the lease of whichever group Spark hands it, until it is over."""

    def __init__(self, sealed: SealedSpec) -> None:
        self._sealed = sealed
        self._spec: JobSpec | None = None
        self._states: States | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._states = declared_states(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        for row in rows:
            yield Row(reports=self._held(row["lease"]))

    def close(self) -> None:
        self._states = None

    def _held(self, lease: str) -> str:
        from forebay.runtime.spark.leases import hold  # noqa: PLC0415 (to declare states takes none of it)
        from forebay.runtime.spark.storage import SparkStorage  # noqa: PLC0415 (nor of this)

        assert self._states is not None
        if self._spec is None:
            self._spec = self._sealed.open()
        try:
            return hold(self._spec, lease, SparkStorage(self._states))
        except Exception as error:  # whatever ends a lease
            # Elsewhere the driver's own files may have been edited since it started: that excuses nothing.
            failure = told(error, self._spec) if is_supervised() else error
            if failure is error:
                raise
            leave_driver(failure)
            raise failure from None
