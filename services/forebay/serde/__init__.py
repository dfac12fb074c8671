"""Encoding of records: contracts, framing and codecs. It does not depend on Kafka's client."""

from forebay.serde.binding import ContractMismatch
from forebay.serde.codec import AvroCodec
from forebay.serde.contracts import ContractMissing, list_contracts, load_contract
from forebay.serde.local import local_codec
from forebay.serde.resolver import LocalSchemas, RegistryUnavailable, SchemaResolver, UnknownSchemaId
from forebay.serde.schema import InvalidSchema, RegisteredSchema, Schema

__all__ = [
    "AvroCodec",
    "ContractMismatch",
    "ContractMissing",
    "InvalidSchema",
    "LocalSchemas",
    "RegisteredSchema",
    "RegistryUnavailable",
    "Schema",
    "SchemaResolver",
    "UnknownSchemaId",
    "list_contracts",
    "load_contract",
    "local_codec",
]
