"""Schema ids that the registry said it does not know, remembered for a while."""

from __future__ import annotations

from collections.abc import Callable

_SHORT_S = 10.0
_LONG_S = 300.0
_FEW = 100
_MOST = 200_000


class UnknownIds:
    """The ids that the registry did not know lately, so that it need not be queried for them yet.

    A few unknown ids are asked for again after 10 s: one may be registered any moment. A flood of them (bytes that only
    look like framed Avro) is remembered for 5 min: asking for each takes longer than 10 s, so that every record would
    cost a request again.

    Args:
        clock: seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_at: dict[int, float] = {}

    def __contains__(self, schema_id: int) -> bool:
        asked_at = self._asked_at.get(schema_id)
        remembered_s = _SHORT_S if len(self._asked_at) <= _FEW else _LONG_S
        return asked_at is not None and self._clock() < asked_at + remembered_s

    def add(self, schema_id: int) -> None:
        """Remember that the registry was asked just now; the oldest leave when there are too many."""
        now = self._clock()
        self._asked_at.pop(schema_id, None)
        self._asked_at[schema_id] = now
        while len(self._asked_at) > _MOST or next(iter(self._asked_at.values())) + _LONG_S <= now:
            del self._asked_at[next(iter(self._asked_at))]
