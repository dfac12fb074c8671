"""Codecs that store records in a list and encode them as indexes, for topologies without contracts."""

from __future__ import annotations

from typing import Any

from forebay.codec import DecodeError, EncodeError
from forebay.records import is_record_type
from forebay.testing.fitting import fitted_record


class KeptRecords:
    """The records that were encoded so far."""

    def __init__(self) -> None:
        self._records: list[Any] = []

    def codec(self, record: type[Any]) -> KeptCodec:
        """Return a codec for a class of records."""
        return KeptCodec(record, self._records)


class KeptCodec:
    """Codec of one class of records, which are encoded as their index in the list of records."""

    is_frozen = True

    def __init__(self, record: type[Any], records: list[Any]) -> None:
        self._record = record
        self._records = records

    def encode(self, record: Any) -> bytes:
        if not isinstance(record, self._record):
            raise EncodeError(f"{type(record).__name__} {record!r} is not a valid {self._record.__name__}")
        self._records.append(fitted_record(record, self._record) if is_record_type(self._record) else record)
        return b"record %d" % (len(self._records) - 1)

    def decode(self, data: bytes) -> Any:
        if not data.startswith(b"record "):
            raise DecodeError(f"{len(data)} bytes are not a valid {self._record.__name__}")
        return self._records[int(data[7:])]
