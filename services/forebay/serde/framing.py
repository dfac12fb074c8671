"""Confluent's wire format: a zero byte, the schema's id (4 bytes, big-endian), and the encoded body."""

from __future__ import annotations

from forebay.codec import DecodeError

HEADER_BYTES = 5
_MAGIC = 0
# The ids of registries are signed 32-bit numbers.
_MAX_ID = 2**31 - 1


def header(schema_id: int) -> bytes:
    """Return the 5 bytes that precede a body of the schema `schema_id`."""
    return bytes((_MAGIC,)) + schema_id.to_bytes(4, "big")


def schema_id_of(data: bytes | None) -> int:
    """Return the schema id of framed bytes.

    Raises:
        DecodeError: The value is null or too short, does not begin with a zero byte, or has an impossible id.
    """
    if data is None:
        raise DecodeError("the value is null: nothing to decode")
    if len(data) < HEADER_BYTES:
        raise DecodeError(f"{len(data)} bytes are too short: a value has at least the {HEADER_BYTES} of its header")
    if data[0] != _MAGIC:
        raise DecodeError(
            f"the first byte is 0x{data[0]:02x}, not the magic byte 0x00: "
            "the producer does not write Avro in Confluent's wire format"
        )
    schema_id = int.from_bytes(data[1:HEADER_BYTES], "big")
    if schema_id > _MAX_ID:
        raise DecodeError(f"the header holds no schema id: {schema_id} is beyond {_MAX_ID}")
    return schema_id
