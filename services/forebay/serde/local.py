"""Codecs without a registry: for what never leaves a job, and for tests."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

from forebay.serde.codec import AvroCodec
from forebay.serde.contracts import load_contract
from forebay.serde.resolver import LocalSchemas

T = TypeVar("T")


def local_codec(service: str, record_type: type[T]) -> AvroCodec[T]:
    """Give the codec of a record type by the service's contract of the same name.

    Raises:
        ContractMissing, InvalidSchema, ContractMismatch: contract and record type don't go together.
    """
    return _codec(service, record_type)


@functools.cache
def _codec(service: str, record_type: type[Any]) -> AvroCodec[Any]:
    schemas = LocalSchemas()
    return AvroCodec(record_type, schemas.register(load_contract(service, record_type.__name__)), schemas)
