"""Decoding in Python, which is slower than native code and reports what is wrong, and where."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from forebay.codec import DecodeError, Unavailable
from forebay.records import FrozenMap
from forebay.serde.decimals import decimal_reader
from forebay.serde.framing import HEADER_BYTES
from forebay.serde.limits import most_values, unfolds
from forebay.serde.plan import (
    Conversion,
    ReadArray,
    ReadDecimal,
    ReadEnumeration,
    ReadFixed,
    ReadMap,
    ReadPlan,
    ReadPrimitive,
    ReadRecord,
    ReadUnion,
    Refuse,
)
from forebay.serde.varint import INT_MAX, INT_MIN, Malformed, read_count, read_integer, read_length, read_varint


def decode_explained(data: bytes, plan: ReadPlan, name: str) -> Any:
    """Return the record in framed bytes.

    Args:
        name: Name of the record, for errors.

    Raises:
        DecodeError: The bytes can't be read. The message names the writer's field and the reason.
    """
    reader = _Reader(data)
    try:
        value = reader.read(plan)
    except IndexError:
        raise DecodeError(f"{name}{reader.where()}: truncated: the {len(data)} bytes end here") from None
    except UnicodeDecodeError as error:
        raise DecodeError(f"{name}{reader.where()}: the string is not UTF-8: {error}") from None
    except _TooManyValues:
        raise DecodeError(unfolds(name, len(data))) from None
    except Malformed as error:
        raise DecodeError(f"{name}{reader.where()}: {error}") from None
    left = len(data) - reader.position
    if left:
        raise DecodeError(f"{name}: {left} trailing bytes after the record's {reader.position}")
    return value


class _TooManyValues(Exception):
    pass


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._path: list[str] = []
        self._values = most_values(len(data))
        self.position = HEADER_BYTES

    def where(self) -> str:
        return "".join(self._path)

    def read(self, plan: ReadPlan) -> Any:
        # Count values, because the size of the record does not limit the number of values of no bytes.
        self._values -= 1
        if self._values < 0:
            raise _TooManyValues
        match plan:
            case ReadPrimitive(name, conversion):
                value = self._primitive(name)
                return float(value) if conversion is Conversion.TO_FLOAT else value
            case ReadFixed(size):
                return self._take(size)
            case ReadDecimal(writer, scale):
                data = self._primitive("bytes") if writer.size is None else self._take(writer.size)
                return decimal_reader(writer, scale)(data)
            case ReadEnumeration(symbols):
                return self._symbol(symbols)
            case ReadUnion(branches):
                return self.read(branches[self._branch(len(branches))])
            case ReadArray(item):
                return tuple(self._inside("[]", item) for _ in self._each_item())
            case ReadMap(value_plan):
                return FrozenMap({self._primitive("string"): self._inside("{}", value_plan) for _ in self._each_item()})
            case ReadRecord():
                return self._record(plan)
            case Refuse(reason):
                raise Malformed(reason)

    def _inside(self, step: str, plan: ReadPlan) -> Any:
        self._path.append(step)
        value = self.read(plan)
        self._path.pop()
        return value

    def _record(self, plan: ReadRecord) -> Any:
        values = [self._inside(f".{name}", field) for name, field in plan.fields]
        try:
            return plan.make(values)
        except (Unavailable, MemoryError):
            raise
        except Exception as error:
            raise Malformed(f"{plan.type_name} refuses these values: {type(error).__name__}: {error}") from error

    def _primitive(self, name: str) -> Any:
        match name:
            case "null":
                return None
            case "boolean":
                byte = self._take(1)[0]
                if byte > 1:
                    raise Malformed(f"0x{byte:02x} is not a boolean")
                return byte == 1
            case "int" | "long":
                value, self.position = read_integer(self._data, self.position)
                if name == "int" and not INT_MIN <= value <= INT_MAX:
                    raise Malformed(f"{value} is beyond 32 bits")
                return value
            case "float":
                return struct.unpack("<f", self._take(4))[0]
            case "double":
                return struct.unpack("<d", self._take(8))[0]
        length, self.position = read_length(self._data, self.position)
        data = self._take(length)
        return data.decode() if name == "string" else data

    def _take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self._data):
            raise IndexError
        data = self._data[self.position : end]
        self.position = end
        return data

    def _each_item(self) -> Iterator[int]:
        while True:
            count, self.position = read_count(self._data, self.position)
            if not count:
                return
            yield from range(count)

    def _branch(self, count: int) -> int:
        index, self.position = read_integer(self._data, self.position)
        if not 0 <= index < count:
            raise Malformed(f"the union has {count} branches, not one with index {index}")
        return index

    def _symbol(self, symbols: tuple[str | None, ...]) -> str:
        number, self.position = read_varint(self._data, self.position)
        if number & 1 or number >> 1 >= len(symbols):
            raise Malformed(f"the enum has {len(symbols)} symbols, not one with this index")
        symbol = symbols[number >> 1]
        if symbol is None:
            raise Malformed("the writer's enum symbol is unknown to the contract, which has no default for it")
        return symbol
