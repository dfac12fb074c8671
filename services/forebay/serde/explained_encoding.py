"""Encoding in Python, which is slower than native code and reports what is wrong, and where."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from forebay.codec import EncodeError
from forebay.records import FrozenMap
from forebay.serde.avro_types import Array, AvroType, DecimalType, Enumeration, Map, Primitive, Record, Union, describe
from forebay.serde.decimals import decimal_writer
from forebay.serde.varint import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN, integer_bytes

_EXPECTED: Mapping[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "int": (int,),
    "long": (int,),
    "float": (float, int),
    "double": (float, int),
    "bytes": (bytes,),
    "string": (str,),
}
_END = b"\0"


def encode_explained(record: Any, contract: Record, classes: Mapping[str, type], header: bytes) -> bytes:
    """Return the record's bytes after `header`.

    Raises:
        EncodeError: The record does not fit the contract. The message names the field and the reason.
    """
    parts = [header]
    _Writer(classes, parts).write(record, contract, type(record).__name__)
    return b"".join(parts)


def always_canonical(avro: AvroType) -> bool:
    """Return whether every value that fits the type is read back with the same Python type and form."""
    match avro:
        case Primitive(name):
            return name not in ("float", "double")
        case Array(part) | Map(part):
            return always_canonical(part)
        case Union(branches):
            return all(always_canonical(branch) for branch in branches)
        case Record(fields=fields):
            return all(always_canonical(field.type) for field in fields)
    return not isinstance(avro, DecimalType)


class _Writer:
    def __init__(self, classes: Mapping[str, type], parts: list[bytes]) -> None:
        self._classes = classes
        self._parts = parts

    def write(self, value: Any, avro: AvroType, path: str) -> None:
        match avro:
            case Primitive(name):
                self._parts.append(_primitive(value, name, path))
            case DecimalType():
                self._decimal(value, avro, path)
            case Enumeration(symbols=symbols):
                if type(value) is not str or value not in symbols:
                    raise EncodeError(f"{path}: {value!r:.100} is not one of {', '.join(symbols)}")
                self._parts.append(integer_bytes(symbols.index(value)))
            case Array(items):
                _require(value, tuple, path)
                self._count(len(value))
                for index, item in enumerate(value):
                    self.write(item, items, f"{path}[{index}]")
                self._parts.append(_END)
            case Map(values):
                _require(value, FrozenMap, path)
                self._count(len(value))
                for key, item in value.items():
                    self._parts.append(_primitive(key, "string", f"{path} (a key)"))
                    self.write(item, values, f"{path}[{key!r}]")
                self._parts.append(_END)
            case Union(branches):
                self._union(value, branches, path)
            case Record(name=name, fields=fields):
                _require(value, self._classes[name], path)
                for field in fields:
                    if not hasattr(value, field.name):
                        raise EncodeError(f"{path}.{field.name} is missing")
                    self.write(getattr(value, field.name), field.type, f"{path}.{field.name}")

    def _decimal(self, value: Any, avro: DecimalType, path: str) -> None:
        try:
            data = decimal_writer(avro)(value)
        except EncodeError as error:
            raise EncodeError(f"{path}: {error}") from None
        self._parts += (b"" if avro.size is not None else integer_bytes(len(data)), data)

    def _count(self, count: int) -> None:
        if count:
            self._parts.append(integer_bytes(count))

    def _union(self, value: Any, branches: tuple[AvroType, ...], path: str) -> None:
        for index, branch in enumerate(branches):
            if type(value) is self._python_class(branch):
                self._parts.append(integer_bytes(index))
                return self.write(value, branch, path)
        raise EncodeError(f"{path}: {_show(value)} is not one of {describe(Union(branches))}")

    def _python_class(self, avro: AvroType) -> type:
        match avro:
            case Primitive(name):
                return _EXPECTED[name][0]
            case DecimalType():
                return Decimal
            case Array():
                return tuple
            case Map():
                return FrozenMap
            case Record(name):
                return self._classes[name]
        return str


def _primitive(value: Any, name: str, path: str) -> bytes:
    _require(value, _EXPECTED[name], path)
    match name:
        case "null":
            return b""
        case "boolean":
            return b"\1" if value else b"\0"
        case "int" | "long":
            low, high = (INT_MIN, INT_MAX) if name == "int" else (LONG_MIN, LONG_MAX)
            if not low <= value <= high:
                raise EncodeError(f"{path}: {value} does not fit into {name} ({low} to {high})")
            return integer_bytes(value)
        case "float" | "double":
            return _floating(value, name, path)
        case "string":
            try:
                value = value.encode()
            except UnicodeEncodeError as error:
                raise EncodeError(f"{path}: the string can't be written as UTF-8: {error}") from None
    return integer_bytes(len(value)) + bytes(value)


def _floating(value: float, name: str, path: str) -> bytes:
    """Return a number's bytes. A float is rounded to the width of `name`. A whole number is never rounded."""
    form = "<f" if name == "float" else "<d"
    try:
        data = struct.pack(form, value)
    except (OverflowError, struct.error):
        raise EncodeError(f"{path}: {value} does not fit into {name}") from None
    if type(value) is int and struct.unpack(form, data)[0] != value:
        raise EncodeError(f"{path}: {value} does not fit into {name}: the nearest is another number")
    return data


def _require(value: Any, expected: type | tuple[type, ...], path: str) -> None:
    # Require exact types. In Python, True is an int and a member of a text enumeration a str, but they would be read
    # back as other values.
    if type(value) is not expected and not (isinstance(expected, tuple) and type(value) in expected):
        first = expected[0] if isinstance(expected, tuple) else expected
        raise EncodeError(f"{path} must be {first.__name__}, is {_show(value)}")


def _show(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {repr(value)[:100]}"
