"""A task group inside Spark: a transformWithState processor.

Spark unpickles it also where it only asks for the states; what works is imported where work comes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.runtime.process.outliving import is_supervised, leave_driver
from forebay.runtime.spark.other_code import told
from forebay.runtime.spark.sealed import SealedSpec

if TYPE_CHECKING:
    from forebay.runtime.spec import JobSpec

log = logging.getLogger(__name__)

OUTPUT_SCHEMA = "reports string"


def declared_states(handle: StatefulProcessorHandle) -> tuple[Any, ...]:
    """Return the states that release 0.2 kept snapshots in."""
    return (
        handle.getMapState("tasks", "part int, task int", "data binary"),
        handle.getMapState("blocks", "part int, task int, number long", "data binary"),
    )


class LeaseHolder(StatefulProcessor):
    """Holds the lease of whichever group Spark hands it, until it is over.

    Spark's state is empty; it is used because Spark runs a state partition where it ran before. Release 0.2 kept
    snapshots in it: its states are still declared, so that a checkpoint of that release is accepted, and emptied.
    """

    def __init__(self, sealed: SealedSpec) -> None:
        self._sealed = sealed
        self._spec: JobSpec | None = None
        self._former: tuple[Any, ...] = ()

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._former = declared_states(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        for row in rows:
            former = [state for state in self._former if state.exists()]
            reports = self._held(row["lease"], is_of_former_release=bool(former))
            for state in former:
                state.clear()
            yield Row(reports=reports)

    def close(self) -> None:
        self._former = ()

    def _held(self, lease: str, *, is_of_former_release: bool) -> str:
        from forebay.runtime.process.logs import configure_logging  # noqa: PLC0415 (to declare states takes none of it)
        from forebay.runtime.spark.leases import hold  # noqa: PLC0415 (nor of this)

        if self._spec is None:
            self._spec = self._sealed.open()
        if is_of_former_release:
            configure_logging(self._spec.log_format)
            log.warning("the checkpoint's snapshots are of release 0.2: the changelogs are read from their beginning")
        try:
            return hold(self._spec, lease)
        except Exception as error:  # whatever ends a lease
            # Elsewhere the driver's own files may have been edited since it started: that excuses nothing.
            failure = told(error, self._spec) if is_supervised() else error
            if failure is error:
                raise
            leave_driver(failure)
            raise failure from None
