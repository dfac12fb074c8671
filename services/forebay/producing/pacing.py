"""Paces events at a steady rate of the wall clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

_UNPACED_BURST = 1000
_LONGEST_PAUSE_S = 0.2


def bursts(
    items: Iterable[T],
    rate: float,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    tick_s: float = 0.005,
) -> Iterator[list[T]]:
    """Yield the items in bursts, so that at any time `rate` per second have been yielded, and never more.

    After a delay, the backlog is yielded as fast as the caller reads it. At low rates there is an empty burst every
    0.2 s, so that the caller can check whether to continue.

    Args:
        items: the items to yield.
        rate: items per second; 0: bursts of a thousand without pauses.
        clock: seconds, monotonic.
        sleep: waits for a number of seconds.
        tick_s: shortest pause in seconds.
    """
    source = iter(items)
    started, given = clock(), 0
    while True:
        wanted = _UNPACED_BURST
        if rate:
            # Count from the start, not from the last burst. Rounding errors would otherwise add up, and a delay would
            # never be made up for.
            wanted = min(wanted, int((clock() - started) * rate) + 1 - given)
        if wanted > 0:
            burst = list(islice(source, wanted))
            if not burst:
                return
            given += len(burst)
            yield burst
        else:
            due_in = max(tick_s, started + given / rate - clock())
            sleep(min(due_in, _LONGEST_PAUSE_S))
            if due_in > _LONGEST_PAUSE_S:
                yield []
