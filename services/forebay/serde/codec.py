"""The codec of one record type: Avro in Confluent's wire format."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from forebay.codec import DecodeError
from forebay.serde.avro_types import Record, describe
from forebay.serde.binding import ContractMismatch, bind
from forebay.serde.explained_decoding import decode_explained
from forebay.serde.explained_encoding import always_canonical, encode_explained
from forebay.serde.extension import Native, native_codec
from forebay.serde.framing import header, schema_id_of
from forebay.serde.plan import ReadPlan
from forebay.serde.resolution import resolve
from forebay.serde.resolver import SchemaResolver
from forebay.serde.schema import InvalidSchema, RegisteredSchema, Schema

T = TypeVar("T")


class AvroCodec(Generic[T]):
    """The codec of one record type. It writes with the contract's schema id and reads data of all compatible schemas.

    If native code was built, it encodes and decodes. Data that it can't handle, or all data without it, goes to the
    explaining path in Python, which accepts the data or raises an error with the reason.

    Args:
        record_type: Class of the records.
        registered: The contract, with its id.
        resolver: Resolver of the writers' schemas.
        native: The native codec. None: only the explaining path is used.
    """

    is_frozen = True
    encode: Callable[[T], bytes]
    """Returns a record's framed bytes. It raises EncodeError, which names the record and the field."""

    decode: Callable[[bytes], T]
    """Returns the record in framed bytes.

    It raises DecodeError if the bytes can never be read, and RegistryUnavailable if the writer's schema is not known
    yet and can't be requested now.
    """

    canonical: Callable[[T], T] | None
    """Returns the record that is read back after a record was written. It raises EncodeError.

    A whole number in a double becomes a float, and a Decimal gets the contract's exponent. None: the contract has no
    such types, so that every record is read back unchanged.
    """

    def __init__(
        self,
        record_type: type[T],
        registered: RegisteredSchema,
        resolver: SchemaResolver,
        native: Native | None = native_codec(),  # noqa: B008 (one answer per process)
    ) -> None:
        """Check that `record_type` fits the schema.

        Raises:
            ContractMismatch: It does not fit. The message names the field.
            InvalidSchema: The schema can't be parsed.
        """
        contract = registered.schema.type
        if not isinstance(contract, Record):
            raise ContractMismatch(f"the contract of {record_type.__name__} is {describe(contract)}, not a record")
        self._contract = contract
        self._classes = bind(record_type, registered.schema)
        self._name = record_type.__name__
        self._registered = registered
        self._resolver = resolver
        self._plans: dict[int, ReadPlan] = {}
        self._native = None
        self.encode, self.decode = self._encode_explained, self._decode_explained
        if native is not None:
            self._native = native(self._name, registered.schema_id, contract, self._classes, self.encode, self.decode)
            self.encode, self.decode = self._native.encode, self._native.decode
        self.canonical = None if always_canonical(contract) else self._canonical
        self._add(registered.schema_id, registered.schema)

    def _encode_explained(self, record: T) -> bytes:
        return encode_explained(record, self._contract, self._classes, header(self._registered.schema_id))

    def _decode_explained(self, data: bytes) -> T:
        schema_id = schema_id_of(data)
        if schema_id not in self._plans:
            schema = self._resolver.schema(schema_id)
            try:
                self._add(schema_id, schema)
            except InvalidSchema as error:
                raise DecodeError(f"the writer's schema {schema_id} can't be used: {error}") from error
            # The native code has the plan now.
            return self.decode(data)
        try:
            return decode_explained(data, self._plans[schema_id], self._name)  # type: ignore[no-any-return]
        except (DecodeError, MemoryError):
            raise
        except Exception as error:
            # The bytes are valid, but the record's __post_init__ refuses the values.
            reason = f"no {self._name} can be made of these values: {type(error).__name__}: {error}"
            raise DecodeError(reason) from error

    def _canonical(self, record: T) -> T:
        if self._native is not None and self._native.is_canonical(record):
            return record
        return self.decode(self.encode(record))

    def _add(self, schema_id: int, writer: Schema) -> None:
        ours = self._registered
        # If a writer's schema differs only in docs or defaults, use the same plan, so that native code compiles it only
        # once.
        if ours.schema_id in self._plans and writer.type == ours.schema.type:
            plan = self._plans[ours.schema_id]
        else:
            plan = resolve(writer.type, self._contract, self._classes)
        # Add the plan to the native code first. If this fails, the next record of this schema adds it again.
        if self._native is not None:
            self._native.add(schema_id, plan)
        self._plans[schema_id] = plan
