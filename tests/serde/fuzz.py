"""A fuzz test of both codec implementations and fastavro: random contracts, records, writer versions, damaged bytes.

    python -m tests.serde.fuzz 24000 [first seed]

A seed determines one contract and several cases for it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import math
import operator
import struct
import sys
from collections.abc import Mapping
from decimal import Context, Decimal
from io import BytesIO
from random import Random
from typing import Any

import fastavro

from forebay.codec import DecodeError
from forebay.records import FrozenMap
from forebay.serde import LocalSchemas
from forebay.serde.framing import header
from tests.serde.everything import schema
from tests.serde.paths import BothPaths

CASES_PER_SEED = 20
_SCALARS = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_WIDER = {"int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",)}
_TEXT = "abcxyz/-_ é€😀\0"
_EXACT = Context(prec=60)


class Contract:
    """A random record type with its Avro schema and its values.

    Every named type has a unique name, so that a changed copy is another version of the same type.
    """

    def __init__(self, random: Random) -> None:
        self.random = random
        self.classes: dict[str, type] = {}
        self._named = 0
        self.avro, self.record_type = self._record(depth=0)

    def _record(self, depth: int) -> tuple[Any, type]:
        name = self._name("R")
        fields, hints = [], []
        for number in range(self.random.randint(1, 6)):
            avro, hint = self._type(depth + 1)
            fields.append({"name": f"f{number}", "type": avro})
            hints.append((f"f{number}", hint))
        dataclass = dataclasses.make_dataclass(name, hints, frozen=True, slots=self.random.random() < 0.8)
        dataclass.__module__ = __name__
        self.classes[name] = dataclass
        return {"type": "record", "name": name, "fields": fields}, dataclass

    def _name(self, prefix: str) -> str:
        self._named += 1
        return f"{prefix}{self._named}"

    def _type(self, depth: int) -> tuple[Any, Any]:
        roll = self.random.random() * (0.55 if depth > 3 else 1)
        if roll < 0.45:
            name = self.random.choice(_SCALARS)
            return name, _hint(name)
        if roll < 0.5:
            size = self.random.randint(1, 5)
            return {"type": "enum", "name": self._name("E"), "symbols": [f"S{n}" for n in range(size)]}, str
        if roll < 0.55:
            return self._decimal(), Decimal
        if roll < 0.67:
            avro, hint = self._type(depth + 1)
            return {"type": "array", "items": avro}, tuple[hint, ...]  # type: ignore[valid-type]
        if roll < 0.79:
            avro, hint = self._type(depth + 1)
            return {"type": "map", "values": avro}, FrozenMap[str, hint]  # type: ignore[valid-type]
        if roll < 0.88:
            return self._record(depth)
        return self._union(depth)

    def _decimal(self) -> Any:
        precision = self.random.randint(1, 24)
        decimal = {"logicalType": "decimal", "precision": precision, "scale": self.random.randint(0, precision)}
        if self.random.random() < 0.5:
            return {"type": "bytes", **decimal}
        return {"type": "fixed", "name": self._name("D"), "size": 11, **decimal}

    def _union(self, depth: int) -> tuple[Any, Any]:
        """Return the branches of a union and its type hint. All branches have different Python types."""
        offered = self.random.sample([*_SCALARS[:2], "long", "double", "bytes", "string"], self.random.randint(1, 4))
        branches = [(name, _hint(name)) for name in offered]
        if self.random.random() < 0.4:
            branches.append(self._record(depth + 1))
        self.random.shuffle(branches)
        hints = [hint for _, hint in branches]
        if len(branches) == 1:
            other = "string" if hints[0] is type(None) else "null"
            branches.append((other, _hint(other)))
            hints.append(_hint(other))
        joined = functools.reduce(operator.or_, hints)
        return [avro for avro, _ in branches], joined

    def value(self, avro: Any) -> Any:
        """Return a random value of a type."""
        random = self.random
        if isinstance(avro, list):
            return self.value(random.choice(avro))
        if isinstance(avro, str):
            return _scalar(avro, random)
        match avro:
            case {"logicalType": "decimal", "precision": precision, "scale": scale}:
                limit = 10 ** random.randint(0, precision) - 1
                return Decimal(random.randint(-limit, limit)).scaleb(-scale, _EXACT)
            case {"type": "enum", "symbols": symbols}:
                return random.choice(symbols)
            case {"type": "array", "items": items}:
                count = random.choice((0, 1, 2, 2 if _is_empty(items) else 70))
                return tuple(self.value(items) for _ in range(count))
            case {"type": "map", "values": values}:
                return FrozenMap({_text(random): self.value(values) for _ in range(random.choice((0, 1, 3)))})
            case {"type": "record", "name": name, "fields": fields}:
                return self.classes[name](*(self.value(field["type"]) for field in fields))
        raise AssertionError(avro)

    def writer(self, avro: Any) -> Any:
        """Return another writer version of the type. The reader can read some or all of its values."""
        random = self.random
        if isinstance(avro, list):
            return random.sample(avro, len(avro))
        if isinstance(avro, str):
            narrower = [name for name, wider in _WIDER.items() if avro in wider]
            written = random.choice(narrower) if narrower and random.random() < 0.3 else avro
            return ["null", written] if written != "null" and random.random() < 0.1 else written
        match avro:
            case {"type": "array", "items": items}:
                return {**avro, "items": self.writer(items)}
            case {"type": "map", "values": values}:
                return {**avro, "values": self.writer(values)}
            case {"type": "record", "fields": fields}:
                changed = [{**field, "type": self.writer(field["type"])} for field in fields]
                random.shuffle(changed)
                if random.random() < 0.5:
                    unknown = {"type": "array", "items": random.choice(_SCALARS[1:])}
                    changed.insert(random.randint(0, len(changed)), {"name": "unknown", "type": unknown})
                return {**avro, "fields": changed}
        return avro


def _is_empty(avro: Any) -> bool:
    """Return whether values take no bytes. A record must not have more such values than bytes."""
    if isinstance(avro, dict) and avro["type"] == "record":
        return all(_is_empty(field["type"]) for field in avro["fields"])
    return bool(avro == "null")


def _hint(name: str) -> Any:
    return {
        "null": type(None), "boolean": bool, "int": int, "long": int, "float": float, "double": float, "bytes": bytes,
        "string": str,
    }[name]  # fmt: skip


def _text(random: Random) -> str:
    return "".join(random.choices(_TEXT, k=random.choice((0, 1, 5, 20, 130))))


def _scalar(name: str, random: Random) -> Any:
    match name:
        case "null":
            return None
        case "boolean":
            return random.random() < 0.5
        case "int":
            return random.randint(-(1 << random.randint(0, 31)), (1 << random.randint(0, 31)) - 1)
        case "long":
            return random.randint(-(1 << random.randint(0, 63)), (1 << random.randint(0, 63)) - 1)
        case "float":
            return struct.unpack("<f", struct.pack("<f", random.uniform(-1e6, 1e6)))[0]
        case "double":
            return random.choice((0.0, -0.5, math.inf, random.uniform(-1e300, 1e300)))
        case "bytes":
            return random.randbytes(random.choice((0, 1, 5, 70)))
    return _text(random)


def plain(value: Any) -> Any:
    """Return a record in the form that fastavro returns."""
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def check(seed: int, cases: int = CASES_PER_SEED) -> None:
    """Run a seed's cases. Raises AssertionError at a difference."""
    contract = Contract(Random(seed))
    schemas = LocalSchemas()
    ours = fastavro.parse_schema(json.loads(json.dumps(contract.avro)))
    codec = BothPaths(contract.record_type, schemas.register(schema(contract.avro)), schemas)
    for _ in range(cases):
        record = contract.value(contract.avro)
        data = codec.encode(record)
        assert same(codec.decode(data), record)
        assert same(fastavro.schemaless_reader(BytesIO(data[5:]), ours, None), plain(record))
        _compare_damaged(codec, data, contract.random)
    _other_writer(contract, codec, schemas, ours)


def _other_writer(contract: Contract, codec: BothPaths, schemas: LocalSchemas, ours: Any) -> None:
    avro = contract.writer(contract.avro)
    schema_id = schemas.register(schema(avro)).schema_id
    theirs = fastavro.parse_schema(json.loads(json.dumps(avro)))
    for _ in range(3):
        value = fastavro_value(contract, avro)
        buffer = BytesIO()
        fastavro.schemaless_writer(buffer, theirs, value)
        data = header(schema_id) + buffer.getvalue()
        buffer.seek(0)
        try:
            expected = fastavro.schemaless_reader(buffer, theirs, ours)
        except Exception:
            with contextlib.suppress(DecodeError):  # fastavro can't resolve some unions at all
                codec.decode(data)
        else:
            assert same(branchless(plain(codec.decode(data))), branchless(expected))
        _compare_damaged(codec, data, contract.random)


def fastavro_value(contract: Contract, avro: Any) -> Any:
    """Return a random value of a writer's type as fastavro accepts it, with the name of each union's branch."""
    if isinstance(avro, list):
        branch = contract.random.choice(avro)
        value = fastavro_value(contract, branch)
        return (branch["name"], value) if isinstance(branch, dict) else (branch, value)
    match avro:
        case {"type": "record", "fields": fields}:
            return {field["name"]: fastavro_value(contract, field["type"]) for field in fields}
        case {"type": "array", "items": items}:
            return [fastavro_value(contract, items) for _ in range(contract.random.choice((0, 2)))]
        case {"type": "map", "values": values}:
            return {_text(contract.random): fastavro_value(contract, values) for _ in range(2)}
    return contract.value(avro)


def _compare_damaged(codec: BothPaths, data: bytes, random: Random) -> None:
    """Compare both implementations on damaged bytes."""
    broken = bytearray(data)
    match random.randrange(3):
        case 0:
            del broken[random.randint(5, len(broken)) :]
        case 1:
            broken += random.randbytes(3)
        case _:
            for _ in range(random.randint(1, 3)):
                if len(broken) > 5:
                    broken[random.randrange(5, len(broken))] = random.randrange(256)
    with contextlib.suppress(DecodeError):
        codec.decode(bytes(broken))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal and have the same types at every level."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if dataclasses.is_dataclass(one):
        return same(plain(one), plain(other))
    return repr(one) == repr(other)


def branchless(value: Any) -> Any:
    """Return a value that does not depend on the chosen branches of the reader's unions.

    fastavro chooses the first branch that fits a number or text. Forebay chooses the writer's own type if the reader
    has it.
    """
    if isinstance(value, dict):
        return {key: branchless(item) for key, item in value.items()}
    if isinstance(value, list):
        return [branchless(item) for item in value]
    if isinstance(value, str):
        return value.encode()
    return float(value) if type(value) is int else value


def main(arguments: list[str]) -> None:
    """Run the requested number of cases."""
    seeds = int(arguments[0]) // CASES_PER_SEED
    first = int(arguments[1]) if len(arguments) > 1 else 0
    for seed in range(first, first + seeds):
        try:
            check(seed)
        except Exception:
            print(f"seed {seed}", file=sys.stderr)
            raise
    print(f"{seeds * CASES_PER_SEED} cases on {seeds} contracts, and as many damaged ones: no difference")


if __name__ == "__main__":
    main(sys.argv[1:])
