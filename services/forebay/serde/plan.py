"""How bytes written under one schema become records of ours: what resolution gives, what decoders follow."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias

from forebay.serde.avro_types import DecimalType


class Conversion(enum.Enum):
    """What becomes of a primitive after it was read: Avro's promotions."""

    NONE = "none"
    TO_FLOAT = "to float"


@dataclass(frozen=True, slots=True)
class ReadPrimitive:
    """Read an Avro primitive called `name`."""

    name: str
    conversion: Conversion


@dataclass(frozen=True, slots=True)
class ReadFixed:
    """Read `size` bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class ReadDecimal:
    """Read what `writer` describes into a Decimal with `scale` digits behind the point."""

    writer: DecimalType
    scale: int


@dataclass(frozen=True, slots=True)
class ReadEnumeration:
    """Read an index into `symbols`; None marks a symbol the reader does not know."""

    symbols: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class ReadArray:
    """Read items into a tuple."""

    item: ReadPlan


@dataclass(frozen=True, slots=True)
class ReadMap:
    """Read values into a FrozenMap."""

    value: ReadPlan


@dataclass(frozen=True, slots=True)
class ReadUnion:
    """Read the index of a branch, then the branch."""

    branches: tuple[ReadPlan, ...]


@dataclass(frozen=True, slots=True)
class FromWire:
    """A constructor argument: the value of the record's field at `index`, in the order written."""

    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A constructor argument: the contract's default for a field the writer does not have."""

    value: Any


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """Read `fields` (name, plan) in the order written, then build `record_type`; None: the reader skips it."""

    fields: tuple[tuple[str, ReadPlan], ...]
    record_type: type | None
    arguments: tuple[FromWire | Constant, ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """What is written here can't become ours, for this reason."""

    reason: str


ReadPlan: TypeAlias = (
    ReadPrimitive | ReadFixed | ReadDecimal | ReadEnumeration | ReadArray | ReadMap | ReadUnion | ReadRecord | Refuse
)
