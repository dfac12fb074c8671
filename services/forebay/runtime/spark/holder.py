"""Holds a lease in a worker of Spark.

Spark also unpickles this module in processes that only plan. The modules that run a group are imported when a lease
arrives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from forebay.runtime.process.survivors import is_supervised, leave_driver
from forebay.runtime.spark.other_code import OtherCodeError, explain_failure
from forebay.runtime.spark.sealed import SealedSpec


def hold_lease(sealed: SealedSpec, lease: str) -> str:
    """Hold a lease until it is over; return its result (`LeaseResult`). Both are JSON."""
    from forebay.runtime.spark.leases import hold  # noqa: PLC0415 (to plan takes none of it)

    spec = sealed.open()
    try:
        return hold(spec, lease)
    except Exception as error:  # any error ends a lease
        # Without supervision, nothing replaces this executor. Files may have been edited since the driver started,
        # which is no reason to leave it.
        failure = explain_failure(error, spec) if is_supervised() else error
        if failure is error:
            raise
        leave_driver(failure)
        raise failure from None


class LeaseHolder(StatefulProcessor):
    """The class that a driver of release 0.2 sends to its executors. An executor of this release leaves that driver."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        return

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Row]:
        failure = OtherCodeError("the driver is of release 0.2", ValueError("its leases can't be held"))
        leave_driver(failure)
        raise failure

    def close(self) -> None:
        return
