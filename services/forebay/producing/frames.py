"""Encodes events as Kafka records, including malformed ones."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from typing import Any

import fastavro

from forebay.producing.base import Defect, Event
from forebay.records import as_dict, fields_of

Frame = tuple[bytes | None, bytes | None]
"""The encoded key and value of a Kafka record."""

FAR_FUTURE_MS = 253_402_300_799_000
"""9999-12-31T23:59:59Z."""

_HEADER_BYTES = 5
_UNKNOWN_ID = (2**31 - 1).to_bytes(4, "big")
_TIMESTAMPS = {Defect.NEGATIVE_TIMESTAMP: -1, Defect.FAR_FUTURE_TIMESTAMP: FAR_FUTURE_MS}
_ALTERED = (Defect.MISSING_FIELD, Defect.NULL_FIELD, Defect.WRONG_TYPE)
_DAMAGE: dict[Defect, Callable[[bytes], bytes | None]] = {
    # Cut within the body, so that the record has a valid header and fails only while it is decoded.
    Defect.UNDECODABLE: lambda data: data[: (_HEADER_BYTES + len(data)) // 2],
    Defect.WRONG_MAGIC: lambda data: b"\x01" + data[1:],
    Defect.UNKNOWN_SCHEMA_ID: lambda data: data[:1] + _UNKNOWN_ID + data[_HEADER_BYTES:],
    Defect.NULL_VALUE: lambda _: None,
}


class Frames:
    """Encodes events.

    Args:
        encode: returns a value encoded with its contract and framed (magic byte, schema id, body).
        contract: the contract, as JSON text.
        required_field: the field that malformed records lack, or in which they contain null or a boolean.
        register: registers a schema from a subject's suffix and a text, and returns its id. It is called once, by
            `prepare` or at the first use, for each kind of defect that needs a separate schema.
    """

    def __init__(
        self,
        encode: Callable[[Any], bytes],
        contract: str,
        required_field: str,
        register: Callable[[str, str], int],
    ) -> None:
        self._encode = encode
        self._contract = contract
        self._field = required_field
        self._register = register
        self._altered: dict[Defect, tuple[bytes, Any]] = {}

    def prepare(self) -> None:
        """Register the schemas of malformed records now, so that the registry may be down later."""
        for defect in _ALTERED:
            self._writer_of(defect)

    def frame(self, event: Event[Any]) -> Frame:
        """Return the event's key and value."""
        if event.defect is None:
            return event.key.encode(), self._encode(event.value)
        return self._malformed_frame(event, event.defect)

    def _malformed_frame(self, event: Event[Any], defect: Defect) -> Frame:
        key = None if defect is Defect.NULL_KEY else event.key.encode()
        if defect in _ALTERED:
            return key, self._encode_altered(event.value, defect)
        if defect in _TIMESTAMPS:
            return key, self._encode(_at(event.value, _TIMESTAMPS[defect]))
        data = self._encode(event.value)
        return key, _DAMAGE[defect](data) if defect in _DAMAGE else data

    def _encode_altered(self, value: Any, defect: Defect) -> bytes:
        header, parsed = self._writer_of(defect)
        fields = as_dict(value)
        fields[self._field] = True if defect is Defect.WRONG_TYPE else None
        body = io.BytesIO()
        fastavro.schemaless_writer(body, parsed, fields)
        return header + body.getvalue()

    def _writer_of(self, defect: Defect) -> tuple[bytes, Any]:
        if defect not in self._altered:
            schema = altered_contract(json.loads(self._contract), self._field, defect)
            schema_id = self._register(defect.value, json.dumps(schema))
            parsed = fastavro.parse_schema(schema, named_schemas={})
            self._altered[defect] = (b"\0" + schema_id.to_bytes(4, "big"), parsed)
        return self._altered[defect]


def _at(value: Any, timestamp: int) -> Any:
    fields = {name: getattr(value, name) for name in fields_of(type(value))}
    return type(value)(**{**fields, "timestamp": timestamp})


def altered_contract(contract: dict[str, Any], field: str, defect: Defect) -> dict[str, Any]:
    """Return a contract that a broken producer might use, in which `field` is missing, nullable, or a boolean."""
    altered = copy.deepcopy(contract)
    if field not in (entry["name"] for entry in altered["fields"]):
        raise ValueError(f"the contract {contract['name']} has no field {field!r}: correct the source's required_field")
    if defect is Defect.MISSING_FIELD:
        altered["fields"] = [entry for entry in altered["fields"] if entry["name"] != field]
    for entry in altered["fields"]:
        if entry["name"] == field:
            entry["type"] = "boolean" if defect is Defect.WRONG_TYPE else ["null", "string"]
    return altered


def json_bytes(value: Any) -> bytes:
    """Return the JSON of a value without contract."""
    return json.dumps(value, separators=(",", ":")).encode()


def json_frame(event: Event[Any]) -> Frame:
    """Return the key and value of an event without contract. A malformed value is truncated."""
    data = json_bytes(event.value)
    if event.defect is Defect.NULL_KEY:
        return None, data
    if event.defect is Defect.NULL_VALUE:
        return event.key.encode(), None
    return event.key.encode(), data if event.defect is None else data[: len(data) // 2]
