"""How bytes written under one schema become records of ours: what resolution gives, what decoders follow."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from forebay.records import fields_of
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

    @property
    def type_name(self) -> str:
        """Return the name of the class of its records; nothing's is empty."""
        return "" if self.record_type is None else self.record_type.__name__

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the arguments: the record's fields in its own order."""
        return () if self.record_type is None else fields_of(self.record_type)

    def make(self, values: Sequence[Any]) -> Any:
        """Return the record of the values read, in the order written; None if the reader skips it."""
        if self.record_type is None:
            return None
        return self.record_type(*(a.value if isinstance(a, Constant) else values[a.index] for a in self.arguments))


@dataclass(frozen=True, slots=True)
class Refuse:
    """What is written here can't become ours, for this reason."""

    reason: str


ReadPlan: TypeAlias = (
    ReadPrimitive | ReadFixed | ReadDecimal | ReadEnumeration | ReadArray | ReadMap | ReadUnion | ReadRecord | Refuse
)
