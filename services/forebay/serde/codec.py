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
    """Writes records under our schema's id; reads what any compatible schema wrote.

    Native code does it where it was built. What it doubts, and everything where it was not, goes to the explaining
    path, which decides and says what is wrong.

    Args:
        native: the native codec; None: the explaining path alone.
    """

    is_frozen = True
    encode: Callable[[T], bytes]
    """Return a record's framed bytes. Raises EncodeError: names record and field."""

    decode: Callable[[bytes], T]
    """Return the record in framed bytes.

    Raises:
        DecodeError: these bytes can never be read; says why.
        RegistryUnavailable: the writer's schema is not known yet and can't be asked for now.
    """

    canonical: Callable[[T], T] | None
    """Return what is read back once a record was written: the same, or an equal one of our types and forms.

    A whole number in a double becomes a float, a Decimal gets the contract's exponent. None: such types don't occur,
    and every record that can be written is read back as it was. Raises EncodeError.
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
            # Native code knows the plan from now on.
            return self.decode(data)
        try:
            return decode_explained(data, self._plans[schema_id], self._name)  # type: ignore[no-any-return]
        except (DecodeError, MemoryError):
            raise
        except Exception as error:
            # The bytes are sound, but a record's own __post_init__ refuses what they say.
            reason = f"no {self._name} can be made of these values: {type(error).__name__}: {error}"
            raise DecodeError(reason) from error

    def _canonical(self, record: T) -> T:
        if self._native is not None and self._native.is_canonical(record):
            return record
        return self.decode(self.encode(record))

    def _add(self, schema_id: int, writer: Schema) -> None:
        ours = self._registered
        # A writer whose schema differs only in docs or defaults: the plan is the same, and native code compiles it
        # once.
        if ours.schema_id in self._plans and writer.type == ours.schema.type:
            plan = self._plans[ours.schema_id]
        else:
            plan = resolve(writer.type, self._contract, self._classes)
        # Native code first: if it refuses the plan, the next record of this schema comes here again.
        if self._native is not None:
            self._native.add(schema_id, plan)
        self._plans[schema_id] = plan
