"""A format of JSON values that fit a JSON Schema, plain or in Confluent's framing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, overload

import jsonschema
from jsonschema.protocols import Validator
from jsonschema.validators import validator_for

from forebay.codec import Codec, DecodeError, EncodeError, is_frozen
from forebay.formats import JSON_WIRE, Format, bytes_rows, no_contracts
from forebay.formats.identities import Identity, by_name
from forebay.serde.framing import header, schema_id_of
from forebay.serde.json_format import JSON, json_of
from forebay.serde.json_schema_wording import without_wording

T = TypeVar("T")

_FRAME = b"\0"
_HEADER_BYTES = 5


class _SchemaCodec:
    """Codec of values that fit a schema. It reads values with and without framing.

    Args:
        header: Header of each value that is written; b"" for plain JSON.
    """

    def __init__(self, name: str, inner: Codec[Any], validator: Validator, header: bytes) -> None:
        self.is_frozen = is_frozen(inner)
        self._name = name
        self._inner = inner
        self._validator = validator
        self._header = header

    def encode(self, record: Any) -> bytes:
        data = self._inner.encode(record)
        problem = self._problem(data)
        if problem:
            raise EncodeError(f"{record!r} does not fit the schema {self._name}: {problem}")
        return self._header + data

    def decode(self, data: bytes) -> Any:
        if data.startswith(_FRAME):
            # The value may have been written with another schema of the subject. It only has to fit this one.
            schema_id_of(data)
            data = data[_HEADER_BYTES:]
        document = self._inner.decode(data)
        problem = self._problem(data)
        if problem:
            raise DecodeError(f"{len(data)} bytes don't fit the schema {self._name}: {problem}")
        return document

    def canonical(self, record: Any) -> Any:
        """Return the value as `decode` returns it. Raise EncodeError if it does not fit the schema."""
        return self.decode(self.encode(record))

    def _problem(self, data: bytes) -> str:
        """Return the reason why a JSON text does not fit the schema; "" if it fits."""
        error = next(iter(self._validator.iter_errors(json.loads(data))), None)
        return "" if error is None else f"{error.json_path}: {error.message[:200]}"


@overload
def json_schema(schema: Mapping[str, Any] | str, *, schema_id: int | None = None) -> Format[Any]: ...
@overload
def json_schema(
    schema: Mapping[str, Any] | str, record: type[T] | Format[T], *, schema_id: int | None = None
) -> Format[T]: ...
def json_schema(schema: Mapping[str, Any] | str, record: Any = None, *, schema_id: int | None = None) -> Any:
    """Return the format of JSON that fits a schema.

    Args:
        schema: JSON Schema, as text or as a mapping. Its `$schema` specifies the draft.
        record: Record or frozen dataclass of the values, or a format that writes them as JSON. None: any JSON, with
            lists as tuples and objects as frozen maps.
        schema_id: Id of the schema in the registry. Values are then written in Confluent's framing. None: they are
            written as plain JSON. Both are read.

    Raises:
        ValueError: The schema is not a JSON Schema.
        TypeError: The class of the values is mutable.
    """
    try:
        read = json.loads(schema) if isinstance(schema, str) else dict(schema)
        validating = validator_for(read, default=jsonschema.Draft202012Validator)
        validating.check_schema(read)
    except (ValueError, jsonschema.SchemaError) as error:
        what = error.message if isinstance(error, jsonschema.SchemaError) else str(error)
        raise ValueError(f"no JSON Schema: {what[:200]}") from error
    inner: Format[Any] = JSON if record is None else record if isinstance(record, Format) else json_of(record)
    name = str(read.get("title") or inner.type.__name__)
    codec = _SchemaCodec(
        name, inner.codec(no_contracts), validating(read), b"" if schema_id is None else header(schema_id)
    )
    row, of_row = bytes_rows(inner.codec(no_contracts))
    return Format(
        f"JSON Schema {name}",
        inner.type,
        lambda _: codec,
        row,
        of_row,
        wire=JSON_WIRE if schema_id is None else None,
        identify=lambda: schema_identity(read, json.dumps(read, sort_keys=True), inner, schema_id),
    )


def schema_identity(schema: Any, text: str, inner: Format[Any], schema_id: int | None) -> Identity:
    """Return the identity of the format of JSON that fits a schema.

    Args:
        schema: The schema.
        text: Text of the schema, as earlier builds of 0.3 recorded it.
        inner: Format that writes the JSON.
        schema_id: Id of the schema in the registry. None: plain JSON.
    """
    shape = json.dumps([without_wording(schema), inner.identity], sort_keys=True)
    return by_name("JSON" if schema_id is None else "JSON Schema", shape, text, schema_id)
