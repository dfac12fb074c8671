"""Codecs without a registry, for data that never leaves a job and for tests."""

from __future__ import annotations

from typing import Any, TypeVar

from forebay.serde.codec import AvroCodec
from forebay.serde.contracts import load_contract
from forebay.serde.resolver import LocalSchemas

T = TypeVar("T")

_codecs: dict[tuple[str, type[Any]], AvroCodec[Any]] = {}


def local_codec(service: str, record_type: type[T]) -> AvroCodec[T]:
    """Return the codec of a record type with the service's contract of the same name.

    Raises:
        ContractMissing: There is no such contract.
        InvalidSchema: The contract is not an Avro schema.
        ContractMismatch: The contract and the record type differ.
    """
    key = (service, record_type)
    if key not in _codecs:
        schemas = LocalSchemas()
        contract = schemas.register(load_contract(service, record_type.__name__))
        _codecs[key] = AvroCodec(record_type, contract, schemas)
    return _codecs[key]
