"""A cache of schema ids that the registry does not know."""

from __future__ import annotations

from collections.abc import Callable

_SHORT_S = 10.0
_LONG_S = 300.0
_FEW = 100
_MOST = 200_000


class UnknownIds:
    """The ids that the registry recently did not know, so that it need not be queried again yet.

    A few unknown ids are queried again after 10 s, because they may be registered at any moment. Many of them (bytes
    that only look like framed Avro) are cached for 5 min: querying all takes longer than 10 s, so that every record
    would cost a request again.

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
        """Cache an id as unknown now. If there are too many, the oldest are dropped."""
        now = self._clock()
        self._asked_at.pop(schema_id, None)
        self._asked_at[schema_id] = now
        while len(self._asked_at) > _MOST or next(iter(self._asked_at.values())) + _LONG_S <= now:
            del self._asked_at[next(iter(self._asked_at))]
