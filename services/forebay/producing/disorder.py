"""Adds late, repeated and malformed records to a stream, as networks and broken producers do."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import cycle
from random import Random
from typing import TypeVar

from forebay.producing.base import Defect, Event, Generator, Options

V = TypeVar("V")

_REPEATABLE = 1000


def disorder(generator: Generator[V], times: Iterable[int], options: Options) -> Iterator[Event[V]]:
    """Yield one record for each event time, in the order of sending.

    A late record keeps its event time, and is sent up to `max_delay_ms` of event time after it. A repeated record is
    one of the last thousand regular records. The last records are the late records that were not sent yet.

    Args:
        generator: generates the regular records.
        times: ascending event times in ms; `options.limit` of them, if there is a limit.
        options: shares, seed and limit.
    """
    if not (options.out_of_order or options.duplicates or options.malformed):
        yield from map(generator.next_event, times)
        return
    # Use separate random numbers, so that the shares do not change the records of the generator.
    draw = Random(f"disorder {options.seed}").random
    # A late record is sent without a draw, so there are fewer draws than records. The shares refer to all records.
    drawn = 1 - options.out_of_order
    malformed = options.malformed / drawn
    repeated = malformed + options.duplicates / drawn
    late = repeated + options.out_of_order / drawn
    kinds = cycle(Defect)
    held: list[tuple[int, int, Event[V]]] = []
    recent: deque[Event[V]] = deque(maxlen=_REPEATABLE)
    remaining = options.limit if options.limit is not None else 1 << 62
    for index, time in enumerate(times):
        remaining -= 1
        # Held records must still fit into the limit, so the last places are reserved for them.
        if held and (held[0][0] <= time or remaining < len(held)):
            event = heapq.heappop(held)[2]
            recent.append(event)
            yield event
            continue
        chance = draw()
        if chance < malformed:
            yield generator.next_event(time)._replace(defect=next(kinds))
            continue
        if chance < repeated and recent:
            yield recent[int(draw() * len(recent))]
            continue
        if repeated <= chance < late and remaining > len(held):
            release = time + 1 + int(draw() * options.max_delay_ms)
            heapq.heappush(held, (release, index, generator.next_event(time)))
        event = generator.next_event(time)
        recent.append(event)
        yield event
