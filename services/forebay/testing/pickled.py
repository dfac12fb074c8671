"""Records as pickles: for topologies whose contracts are not written yet."""

from __future__ import annotations

import pickle
from typing import Any

from forebay.codec import DecodeError, EncodeError


class PickledCodec:
    """Any record of one class as bytes."""

    def __init__(self, record: type[Any]) -> None:
        self._record = record

    def encode(self, record: Any) -> bytes:
        if not isinstance(record, self._record):
            raise EncodeError(f"{type(record).__name__} {record!r} is no {self._record.__name__}")
        return pickle.dumps(record)

    def decode(self, data: bytes) -> Any:
        try:
            return pickle.loads(data)
        except Exception as error:
            raise DecodeError(f"{len(data)} bytes are no {self._record.__name__}: {error}") from error
