"""Encoders generated per contract: from fields straight to bytes, several times as fast as by way of a dict.

A generated encoder writes records that fit their contract. At anything else, and at a string or a collection too
long for the tables of lengths, it raises any exception at all; `checked_encoder` then writes it or says what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any

from forebay.codec import EncodeError
from forebay.records import FrozenMap
from forebay.serde.avro_types import Array, AvroType, DecimalType, Enumeration, Map, Primitive, Record, Union
from forebay.serde.decimals import decimal_writer
from forebay.serde.source import Source
from forebay.serde.varint import LENGTHS, SHORT, VARINTS, integer_bytes, long_bytes

_ZERO = repr(b"\0")


class _Texts(dict[str, bytes]):
    """Bytes of strings that occur in collections: few and often the same (pages, devices, actions)."""

    _MOST = 16_384
    _LONGEST = 64

    def __missing__(self, text: str) -> bytes:
        data = text.encode()
        encoded = LENGTHS[len(data)] + data
        if len(data) <= self._LONGEST:
            if len(self) >= self._MOST:
                self.clear()
            self[text] = encoded
        return encoded


_texts = _Texts()


class _TextLists(dict[tuple[str, ...], bytes]):
    """Bytes of whole lists of strings: state changes them seldom and sends them often (devices used, top pages)."""

    _MOST = 16_384
    _LONGEST = 400

    def __missing__(self, items: tuple[str, ...]) -> bytes:
        if items.__class__ is not tuple:
            raise EncodeError
        if not items:
            return b"\0"
        encoded = b"".join((LENGTHS[len(items)], *[_texts[item] for item in items], b"\0"))
        if len(encoded) <= self._LONGEST:
            if len(self) >= self._MOST:
                self.clear()
            self[items] = encoded
        return encoded


_text_lists = _TextLists()


def generate_encoder(
    contract: Record, classes: Mapping[str, type], header: bytes, origin: str
) -> Callable[[Any], bytes]:
    """Give a function from a record to its bytes behind `header`. `origin` names it in tracebacks."""
    source = Source()
    source.scope.update(
        Decimal=Decimal,
        EncodeError=EncodeError,
        FrozenMap=FrozenMap,
        booleans={True: b"\1", False: b"\0"},
        join=b"".join,
        lengths=LENGTHS,
        long_bytes=long_bytes,
        pack_double=struct.Struct("<d").pack,
        pack_float=struct.Struct("<f").pack,
        text_lists=_text_lists,
        texts=_texts,
        varints=VARINTS,
    )
    with source.block("def encode(record):"):
        parts = _Writer(source, classes).write(contract, "record")
        source.add(f"return join(({', '.join((repr(header), *parts))},))")
    return source.compile("encode", f"<encoder of {origin}>")


@lru_cache
def _lengths_behind(branch: int) -> tuple[bytes, ...]:
    prefix = integer_bytes(branch)
    return tuple(prefix + length for length in LENGTHS)


class _Writer:
    def __init__(self, source: Source, classes: Mapping[str, type]) -> None:
        self._source = source
        self._classes = classes
        self._prefixed: dict[int, str] = {}

    def write(self, avro: AvroType, value: str, branch: int | None = None) -> list[str]:
        """Append lines that prepare the variable `value`; give the expressions of its bytes, in order.

        `branch` is the index of the union's branch to write in front.
        """
        if isinstance(avro, Primitive) and avro.name in ("bytes", "string"):
            data = self._encoded(avro.name, value)
            return [f"{self._lengths(branch)}[len({data})]", data]
        if branch is not None:
            return [repr(integer_bytes(branch)), *self._write_unprefixed(avro, value)]
        if avro == Primitive("null"):
            self._source.add(f"if {value} is not None: raise EncodeError")
        return self._write_unprefixed(avro, value)

    def _write_unprefixed(self, avro: AvroType, value: str) -> list[str]:
        match avro:
            case Primitive("null"):
                return []
            case Primitive("boolean"):
                return [f"booleans[{value}]"]
            case Primitive("float" | "double" as name):
                return [f"pack_{name}({value})"]
            case Primitive(name):
                return [self._integer(name, value)]
            case DecimalType():
                return self._decimal(avro, value)
            case Enumeration(symbols=symbols):
                table = {symbol: integer_bytes(index) for index, symbol in enumerate(symbols)}
                return [f"{self._source.constant('symbols', table)}[{value}]"]
            case Array(Primitive("string")):
                return [f"text_lists[{value}]"]
            case Array(items):
                return [self._collection("tuple", value, "for {} in {}:", (items,))]
            case Map(values):
                members = (Primitive("string"), values)
                return [self._collection("FrozenMap", value, "for {}, {} in {}.items():", members)]
            case Union(branches):
                return self._union(branches, value)
            case Record():
                return self._record(avro, value)
        raise TypeError(f"contracts have no {type(avro).__name__}")

    def _decimal(self, avro: DecimalType, value: str) -> list[str]:
        data = self._source.name("d")
        self._source.add(f"{data} = {self._source.constant('decimal', decimal_writer(avro))}({value})")
        return [data] if avro.size is not None else [f"lengths[len({data})]", data]

    def _encoded(self, name: str, value: str) -> str:
        if name == "bytes":
            self._source.add(f"if {value}.__class__ is not bytes: raise EncodeError")
            return value
        data = self._source.name("s")
        self._source.add(f"{data} = {value}.encode()")
        return data

    def _lengths(self, branch: int | None) -> str:
        """Give the name of the table of lengths behind a branch's index."""
        if branch is None:
            return "lengths"
        if branch not in self._prefixed:
            self._prefixed[branch] = self._source.constant("lengths", _lengths_behind(branch))
        return self._prefixed[branch]

    def _integer(self, name: str, value: str) -> str:
        number = self._source.name("z")
        self._source.add(f"{number} = {value} + {value} if {value} >= 0 else -{value} - {value} - 1")
        bits = 32 if name == "int" else 64
        with self._source.block(f"if {number} < {SHORT}:"):
            self._source.add(f"{number} = varints[{number}]")
        with self._source.block("else:"):
            self._source.add(f"if {number} >> {bits}: raise EncodeError", f"{number} = long_bytes({number})")
        return number

    def _collection(self, kind: str, value: str, loop: str, members: tuple[AvroType, ...]) -> str:
        result, parts, add = self._source.name("c"), self._source.name("parts"), self._source.name("add")
        names = [self._source.name("m") for _ in members]
        self._source.add(f"if {value}.__class__ is not {kind}: raise EncodeError")
        with self._source.block(f"if {value}:"):
            self._source.add(f"{parts} = [lengths[len({value})]]; {add} = {parts}.append")
            with self._source.block(loop.format(*names, value)):
                for avro, name in zip(members, names, strict=True):
                    if avro == Primitive("string"):
                        self._source.add(f"{add}(texts[{name}])")
                    else:
                        self._source.add(*(f"{add}({part})" for part in self.write(avro, name)))
            self._source.add(f"{add}({_ZERO})", f"{result} = join({parts})")
        with self._source.block("else:"):
            self._source.add(f"{result} = {_ZERO}")
        return result

    def _union(self, branches: tuple[AvroType, ...], value: str) -> list[str]:
        """Write every branch's parts into the same variables; shorter branches leave the rest empty."""
        targets: list[str] = []
        endings: list[tuple[Callable[[str], None], int]] = []
        keyword = "if"
        for index, branch in enumerate(branches):
            with self._source.block(f"{keyword} {self._test(branch, value)}:"):
                parts = self.write(branch, value, index)
                targets.extend(self._source.name("u") for _ in parts[len(targets) :])
                self._source.add(*(f"{target} = {part}" for target, part in zip(targets, parts, strict=False)))
                endings.append((self._source.slot(), len(parts)))
            keyword = "elif"
        self._source.add("else: raise EncodeError")
        for fill, used in endings:
            if used < len(targets):
                fill(" = ".join((*targets[used:], "b''")))
        return targets

    def _test(self, avro: AvroType, value: str) -> str:
        match avro:
            case Primitive("null"):
                return f"{value} is None"
            case Primitive("boolean"):
                return f"{value}.__class__ is bool"
            case Primitive("int" | "long"):
                return f"{value}.__class__ is int"
            case Primitive("float" | "double"):
                return f"{value}.__class__ is float"
            case Primitive("bytes"):
                return f"{value}.__class__ is bytes"
            case DecimalType():
                return f"{value}.__class__ is Decimal"
            case Array():
                return f"{value}.__class__ is tuple"
            case Map():
                return f"{value}.__class__ is FrozenMap"
            case Record(name):
                return f"{value}.__class__ is {self._source.constant('Type', self._classes[name])}"
        return f"{value}.__class__ is str"

    def _record(self, record: Record, value: str) -> list[str]:
        record_type = self._source.constant("Type", self._classes[record.name])
        self._source.add(f"if {value}.__class__ is not {record_type}: raise EncodeError")
        parts: list[str] = []
        for field in record.fields:
            name = self._source.name("f")
            self._source.add(f"{name} = {value}.{field.name}")
            parts += self.write(field.type, name)
        return parts
