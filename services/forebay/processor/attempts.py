"""Computing a batch: fast first, and again record by record if something put can't be written."""

from __future__ import annotations

import logging
from collections.abc import Callable

from forebay.processor.batch import BatchResult
from forebay.processor.engine import TaskEngine
from forebay.processor.engine_settings import StateEncoding
from forebay.stores.rows import StoreEncodeError

log = logging.getLogger(__name__)


def compute(
    name: str, engine: TaskEngine, attempt: Callable[[StateEncoding], BatchResult], *, blames_memory: bool = False
) -> BatchResult:
    """Return a batch's result; a record or timer that put what can't be written is among its errors.

    Args:
        name: of the task, for the log.
        attempt: runs the batch on `engine` from its input on, and finishes it.
        blames_memory: whether a row that takes too much memory to be encoded is the fault of what put it.

    Raises:
        StoreEncodeError: what can't be written was put by no record and no timer of this batch.
    """
    position = engine.position
    try:
        return attempt(StateEncoding.AT_END)
    except (StoreEncodeError, MemoryError) as error:
        if isinstance(error, MemoryError) and not blames_memory:
            raise
        log.warning(
            "%s: %s: repeating the commit record by record to find the failed one", name, str(error) or "MemoryError"
        )
        # The first attempt left its puts and timers in memory.
        engine.load(position)
        return attempt(StateEncoding.EACH)
