"""Decoders generated per plan: from bytes straight into constructors, 2-3 times as fast as by way of a dict.

A generated decoder reads what well-formed bytes hold. At anything else it raises any exception at all, and
never gives a wrong record; `checked_decoder` then says what is wrong, and where.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from forebay.codec import DecodeError
from forebay.fastinit import fast_constructor
from forebay.records import FrozenMap
from forebay.serde.decimals import decimal_reader
from forebay.serde.framing import HEADER_BYTES
from forebay.serde.plan import (
    Constant,
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
from forebay.serde.source import Source
from forebay.serde.varint import read_count, read_length, read_varint

_CONTINUED = tuple(sum(128 << 7 * index for index in range(count)) for count in range(6))
"""Sum of the continuation bits of the first so many bytes of a number."""


def generate_decoder(plan: ReadPlan, origin: str) -> Callable[[bytes], Any]:
    """Give a function from framed bytes to the record `plan` describes. `origin` names it in tracebacks."""
    source = Source()
    source.scope.update(
        read_varint=read_varint,
        read_length=read_length,
        read_count=read_count,
        FrozenMap=FrozenMap,
        DecodeError=DecodeError,
        read_float=struct.Struct("<f").unpack_from,
        read_double=struct.Struct("<d").unpack_from,
    )
    with source.block("def decode(d):"):
        source.add(f"p = {HEADER_BYTES}")
        _read(plan, "value", source)
        source.add("if p != len(d): raise DecodeError", "return value")
    return source.compile("decode", f"<decoder of {origin}>")


def _read(plan: ReadPlan, target: str, source: Source) -> None:
    """Append lines that set `target` to the value at d[p] and move p behind it."""
    match plan:
        case ReadPrimitive(name, conversion):
            _primitive(name, target, source)
            if conversion is Conversion.TO_FLOAT:
                source.add(f"{target} = float({target})")
        case ReadFixed(size):
            source.add(f"{target} = d[p:p + {size}]; p += {size}")
        case ReadDecimal(writer, scale):
            underlying = ReadPrimitive("bytes", Conversion.NONE) if writer.size is None else ReadFixed(writer.size)
            _read(underlying, target, source)
            source.add(f"{target} = {source.constant('decimal', decimal_reader(writer, scale))}({target})")
        case ReadEnumeration(symbols):
            table = source.constant("symbols", symbols)
            source.add("n = d[p]; p += 1")
            source.add("if n > 127: n, p = read_varint(d, p - 1)")
            source.add(f"{target} = None if n & 1 else {table}[n >> 1]", f"if {target} is None: raise DecodeError")
        case ReadUnion(branches):
            _union(branches, target, source)
        case ReadArray(item):
            _array(item, target, source)
        case ReadMap(value):
            _map(value, target, source)
        case ReadRecord():
            _record(plan, target, source)
        case Refuse():
            source.add(f"{target} = None; raise DecodeError")


def _primitive(name: str, target: str, source: Source) -> None:
    match name:
        case "null":
            source.add(f"{target} = None")
        case "boolean":
            source.add(f"n = d[p]; p += 1; {target} = n == 1", "if n > 1: raise DecodeError")
        case "int" | "long":
            _integer(target, source)
            if name == "int":
                source.add(f"if {target} + 2147483648 >> 32: raise DecodeError")
        case "float" | "double":
            source.add(f"{target}, = read_{name}(d, p); p += {4 if name == 'float' else 8}")
        case "bytes" | "string":
            decode = ".decode()" if name == "string" else ""
            source.add("n = d[p]")
            with source.block("if n & 129:"):
                source.add("n, p = read_length(d, p)", "e = p + n")
            with source.block("else:"):
                source.add("p += 1; e = p + (n >> 1)")
            source.add(f"{target} = d[p:e]{decode}; p = e")


def _integer(target: str, source: Source) -> None:
    """Numbers of 1, 2, 3 and 6 bytes (a timestamp in ms) are read in line."""
    source.add("n = d[p]")
    with source.block("if n < 128:"):
        source.add("p += 1")
    with source.block("else:"):
        source.add("b1 = d[p + 1]")
        with source.block("if b1 < 128:"):
            source.add(f"n += (b1 << 7) - {_CONTINUED[1]}; p += 2")
        with source.block("else:"):
            source.add("b2 = d[p + 2]")
            with source.block("if b2 < 128:"):
                source.add(f"n += (b1 << 7) + (b2 << 14) - {_CONTINUED[2]}; p += 3")
            with source.block("else:"):
                source.add("b3, b4, b5 = d[p + 3:p + 6].ljust(3)")
                with source.block("if b3 > 127 and b4 > 127 and b5 < 128:"):
                    source.add("n += (b1 << 7) + (b2 << 14) + (b3 << 21) + (b4 << 28) + (b5 << 35)")
                    source.add(f"n -= {_CONTINUED[5]}; p += 6")
                with source.block("else:"):
                    source.add("n, p = read_varint(d, p)")
    source.add(f"{target} = -(n + 1 >> 1) if n & 1 else n >> 1")


def _union(branches: tuple[ReadPlan, ...], target: str, source: Source) -> None:
    source.add("n = d[p]; p += 1")
    by_likelihood = sorted(enumerate(branches), key=lambda branch: branch[1] == ReadPrimitive("null", Conversion.NONE))
    keyword = "if"
    for index, branch in by_likelihood:
        with source.block(f"{keyword} n == {2 * index}:"):
            _read(branch, target, source)
        keyword = "elif"
    with source.block("else:"):
        source.add("raise DecodeError")


def _blocks(source: Source) -> str:
    """Append the head of the loop over an array's or map's blocks; give the opening of the inner loop."""
    source.add("n = d[p]")
    with source.block("if n & 129:"):
        source.add("n, p = read_count(d, p)")
    with source.block("else:"):
        source.add("p += 1; n >>= 1")
    source.add("if not n: break")
    return f"for {source.name('_')} in range(n):"


def _array(item: ReadPlan, target: str, source: Source) -> None:
    items, one = source.name("items"), source.name("item")
    source.add(f"{items} = []")
    with source.block("while True:"), source.block(_blocks(source)):
        _read(item, one, source)
        source.add(f"{items}.append({one})")
    source.add(f"{target} = tuple({items})")


def _map(value: ReadPlan, target: str, source: Source) -> None:
    entries, key, one = source.name("entries"), source.name("key"), source.name("entry")
    source.add(f"{entries} = {{}}")
    with source.block("while True:"), source.block(_blocks(source)):
        _primitive("string", key, source)
        _read(value, one, source)
        source.add(f"{entries}[{key}] = {one}")
    source.add(f"{target} = FrozenMap({entries})")


def _record(plan: ReadRecord, target: str, source: Source) -> None:
    names = [source.name("f") for _ in plan.fields]
    for name, (_, field_plan) in zip(names, plan.fields, strict=True):
        _read(field_plan, name, source)
    if plan.record_type is None:
        source.add(f"{target} = None")
        return
    arguments = [
        source.constant("default", argument.value) if isinstance(argument, Constant) else names[argument.index]
        for argument in plan.arguments
    ]
    constructor, is_twin = fast_constructor(plan.record_type)
    source.add(f"{target} = {source.constant('new', constructor)}({', '.join(arguments)})")
    if is_twin:
        source.add(f"{target}.__class__ = {source.constant('Type', plan.record_type)}")
