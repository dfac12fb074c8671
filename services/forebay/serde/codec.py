"""The codec of one record type: Avro in Confluent's wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from forebay.codec import DecodeError
from forebay.serde.avro_types import Record, describe
from forebay.serde.binding import ContractMismatch, bind
from forebay.serde.checked_decoder import decode_checked
from forebay.serde.checked_encoder import encode_checked
from forebay.serde.fast_decoder import generate_decoder
from forebay.serde.fast_encoder import generate_encoder
from forebay.serde.framing import HEADER_BYTES, header, schema_id_of
from forebay.serde.plan import ReadPlan
from forebay.serde.resolution import resolve
from forebay.serde.resolver import SchemaResolver
from forebay.serde.schema import InvalidSchema, RegisteredSchema, Schema

T = TypeVar("T")


class AvroCodec(Generic[T]):
    """Writes records under our schema's id; reads what any compatible schema wrote.

    Each id is resolved once; then its bytes go through a generated decoder. A failure there is looked at again by a
    slow, checked one, which decides and explains.
    """

    def __init__(self, record_type: type[T], registered: RegisteredSchema, resolver: SchemaResolver) -> None:
        """Check that `record_type` fits the schema.

        Raises:
            ContractMismatch: it does not; names the field.
            InvalidSchema: the schema can't be parsed.
        """
        contract = registered.schema.type
        if not isinstance(contract, Record):
            raise ContractMismatch(f"the contract of {record_type.__name__} is {describe(contract)}, not a record")
        self._contract = contract
        self._classes = bind(record_type, registered.schema)
        self._name = record_type.__name__
        self._registered = registered
        self._resolver = resolver
        self._header = header(registered.schema_id)
        self._encode = generate_encoder(contract, self._classes, self._header, contract.name)
        self._plans: dict[bytes, ReadPlan] = {}
        self._decoders: dict[bytes, Callable[[bytes], Any]] = {}
        self._add(self._header, registered.schema)

    def encode(self, record: T) -> bytes:
        """Give the record's framed bytes. Raises EncodeError: names record and field."""
        try:
            return self._encode(record)
        except Exception:
            return encode_checked(record, self._contract, self._classes, self._header)

    def decode(self, data: bytes) -> T:
        """Give the record in framed bytes.

        Raises:
            DecodeError: these bytes can never be read; says why.
            RegistryUnavailable: the writer's schema is not known yet and can't be asked for now.
        """
        try:
            return self._decoders[data[:HEADER_BYTES]](data)  # type: ignore[no-any-return]
        except Exception:
            return self._decode_checked(data)

    def _decode_checked(self, data: bytes) -> T:
        schema_id = schema_id_of(data)
        head = data[:HEADER_BYTES]
        if head not in self._plans:
            schema = self._resolver.schema(schema_id)
            try:
                self._add(head, schema)
            except InvalidSchema as error:
                raise DecodeError(f"the writer's schema {schema_id} can't be used: {error}") from error
        try:
            return decode_checked(data, self._plans[head], self._name)  # type: ignore[no-any-return]
        except (DecodeError, MemoryError):
            raise
        except Exception as error:
            # The bytes are sound, but a record's own __post_init__ refuses what they say.
            reason = f"no {self._name} can be made of these values: {type(error).__name__}: {error}"
            raise DecodeError(reason) from error

    def _add(self, head: bytes, writer: Schema) -> None:
        ours = self._registered.schema
        if writer.type == ours.type and self._header in self._plans:
            self._plans[head], self._decoders[head] = self._plans[self._header], self._decoders[self._header]
            return
        try:
            plan = resolve(writer.type, self._contract, self._classes)
            self._decoders[head] = generate_decoder(plan, self._contract.name)
        except (SyntaxError, RecursionError) as error:
            raise InvalidSchema(f"its types are nested too deeply: {error}") from error
        self._plans[head] = plan
