"""The slots of a backfill's task groups: a backfill without enough of them ends, or reports what it waits for."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError
from pyspark import SparkContext

from forebay.runtime.driver.slots import PATIENCE_SECONDS, count_slots, count_stages, explain, has_fixed_slots
from forebay.spark.errors import OptionError

log = logging.getLogger(__name__)

_EXECUTOR_SECONDS = 20.0
"""How long executors of a cluster may take to register."""
_POLL_SECONDS = 1.0


def needs_slots(application: str, groups: int) -> str:
    """Return the message of a backfill whose groups must run at the same time, and can't."""
    return (
        f"the {groups} task groups of {application} forward records to each other, so they need as many slots at the "
        f"same time: give Spark more slots, or groups={groups // 2 or 1}"
    )


def require_slots_of_groups(
    context: SparkContext, application: str, groups: int, pause: Callable[[float], None] = time.sleep
) -> None:
    """Refuse a Spark that can't run all task groups of a backfill at the same time.

    Spark itself would refuse it after ten minutes, in which it prints nothing.

    Raises:
        OptionError: Spark has fewer slots.
    """
    rounds = 0 if has_fixed_slots(context) else int(_EXECUTOR_SECONDS / _POLL_SECONDS)
    while (slots := count_slots(context)) < groups:
        if not rounds:
            raise OptionError(f"{needs_slots(application, groups)} (Spark has {slots}, spark.master={context.master})")
        rounds -= 1
        pause(_POLL_SECONDS)


@contextmanager
def reported_waiting(context: SparkContext, application: str) -> Iterator[None]:
    """Log a warning whenever none of the block's Spark tasks has had a slot for some seconds."""
    tag, closed = f"forebay-{uuid.uuid4().hex}", threading.Event()
    context.addJobTag(tag)

    def watch() -> None:
        since = None
        logged = ""
        while not closed.wait(_POLL_SECONDS):
            with suppress(Py4JError, OSError):
                stages = count_stages(context, context._jsc.sc().statusTracker().getJobIdsForTag(tag))
                if not stages.tasks or stages.running:
                    since = None
                    continue
                since = since or time.monotonic()
                text = explain(context, stages.tasks, stages)
                if time.monotonic() - since >= PATIENCE_SECONDS and text != logged:
                    logged = text
                    log.warning("%s: %s", application, text)

    thread = threading.Thread(target=watch, name="slots", daemon=True)
    thread.start()
    try:
        yield
    finally:
        closed.set()
        thread.join(_POLL_SECONDS * 5)
        with suppress(Py4JError, OSError):
            context.removeJobTag(tag)


__all__ = ["needs_slots", "reported_waiting", "require_slots_of_groups"]
