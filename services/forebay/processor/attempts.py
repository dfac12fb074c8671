"""Attempts to compute a commit: fast at first, and record by record if a put value can't be encoded."""

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
    """Return the result of a commit. A record or timer that put a value that can't be encoded is among its errors.

    Args:
        name: Name of the task, for the log.
        attempt: Function that computes the commit with `engine` from its input, and returns the result.
        blames_memory: Whether a lack of memory for encoding a row is blamed on the record or timer that put it.

    Raises:
        StoreEncodeError: No record or timer of this commit put the value that can't be encoded.
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
        # The puts and timers of the first attempt are still in memory.
        engine.load(position)
        return attempt(StateEncoding.EACH)
