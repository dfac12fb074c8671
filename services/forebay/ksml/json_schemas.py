"""JSON with a JSON Schema, in Confluent's framing. Values are converted to its types before they are checked."""

from __future__ import annotations

import json
from typing import Any

from forebay.codec import Codec
from forebay.formats import Format, bytes_rows, no_contracts
from forebay.ksml.parsing import float_of, number_or_text, text_of_scalar, whole_of
from forebay.ksml.types import UnknownType
from forebay.serde.json_schema_format import json_schema, schema_identity


class _FittedCodec:
    def __init__(self, inner: Codec[Any], schema: Any) -> None:
        self._inner = inner
        self._schema = schema

    def encode(self, record: Any) -> bytes:
        return self._inner.encode(fit_schema(record, self._schema))

    def decode(self, data: bytes) -> Any:
        return self._inner.decode(data)


def json_schema_format(name: str, text: str, schema_id: int, values: Format[Any]) -> Format[Any]:
    """Return the format of JSON with a schema, which can also decode plain JSON. Raises UnknownType.

    Args:
        values: format of the JSON itself.
    """
    try:
        inner = json_schema(text, values, schema_id=schema_id)
    except ValueError as error:
        raise UnknownType(f"the schema {name}: {error}") from error
    schema = json.loads(text)
    codec = _FittedCodec(inner.codec(no_contracts), schema)
    row, of_row = bytes_rows(codec)
    return Format(
        f"JSON Schema {name}",
        object,
        lambda _: codec,
        row,
        of_row,
        identify=lambda: schema_identity(schema, text, values, schema_id),
    )


def fit_schema(value: Any, schema: Any) -> Any:
    """Return a value with texts converted to numbers, and numbers to texts, as the schema requires and KSML does."""
    if not isinstance(schema, dict):
        return value
    said = schema.get("type")
    kinds = said if isinstance(said, list) else [said]
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {name: fit_schema(item, fields.get(name)) for name, item in value.items() if not name.startswith("@")}
    if isinstance(value, list | tuple):
        return [fit_schema(item, schema.get("items")) for item in value]
    if isinstance(value, str) and "string" not in kinds and not {"number", "integer"}.isdisjoint(kinds):
        return _number(value, float if "number" in kinds else int)
    if isinstance(value, int | float) and not isinstance(value, bool) and kinds == ["string"]:
        return text_of_scalar(value)
    return value


def _number(text: str, kind: type[int | float]) -> Any:
    whole = number_or_text(whole_of, text)
    return number_or_text(float_of, text) if whole is text and kind is float else whole
