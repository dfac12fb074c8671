"""Avro's variable-length zigzag integers."""

from __future__ import annotations

from forebay.codec import DecodeError

LONG_MIN, LONG_MAX = -(1 << 63), (1 << 63) - 1
INT_MIN, INT_MAX = -(1 << 31), (1 << 31) - 1
_MAX_BYTES = 10


class Malformed(DecodeError):
    """The bytes are not an Avro value, because of a negative length, a number of more than 64 bits or other errors."""


def zigzag(value: int) -> int:
    """Return the unsigned number that encodes `value`."""
    return value + value if value >= 0 else -value - value - 1


def integer_bytes(value: int) -> bytes:
    """Return the bytes of an int, long, length or count."""
    number = zigzag(value)
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return the unsigned number at `position` and the position after it. Raise Malformed, or IndexError at the end."""
    number = shift = 0
    for index in range(position, position + _MAX_BYTES):
        byte = data[index]
        number |= (byte & 127) << shift
        if byte < 128:
            if number >> 64:
                break
            return number, index + 1
        shift += 7
    raise Malformed("a number is longer than 64 bits")


def read_integer(data: bytes, position: int) -> tuple[int, int]:
    """Return the signed number at `position` and the position after it. Raise Malformed, or IndexError at the end."""
    number, position = read_varint(data, position)
    return -(number + 1 >> 1) if number & 1 else number >> 1, position


def read_length(data: bytes, position: int) -> tuple[int, int]:
    """Return a length and the position after it. Raises Malformed, IndexError at the end."""
    length, position = read_integer(data, position)
    if length < 0:
        raise Malformed(f"a length is negative: {length}")
    if length > len(data) - position:
        raise Malformed(f"truncated: a length says {length} bytes, {len(data) - position} are left")
    return length, position


def read_count(data: bytes, position: int) -> tuple[int, int]:
    """Return the number of items in a block of an array or map and the position after it.

    A negative count announces the block's size in bytes, which is not needed here.
    Raises Malformed, IndexError at the end.
    """
    count, position = read_integer(data, position)
    if count < 0:
        _size, position = read_length(data, position)
        count = -count
    if count > len(data):
        raise Malformed(f"a block says {count} items, more than the {len(data)} bytes of the record can hold")
    return count, position
