"""Plans for decoding bytes of a writer's schema to records. Resolution creates them, and decoders follow them."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from forebay.records import fields_of
from forebay.serde.avro_types import DecimalType


class Conversion(enum.Enum):
    """The conversion of a primitive after it was read (Avro's promotions)."""

    NONE = "none"
    TO_FLOAT = "to float"


@dataclass(frozen=True, slots=True)
class ReadPrimitive:
    """Read the Avro primitive `name`."""

    name: str
    conversion: Conversion


@dataclass(frozen=True, slots=True)
class ReadFixed:
    """Read `size` bytes."""

    size: int


@dataclass(frozen=True, slots=True)
class ReadDecimal:
    """Read a decimal of the type `writer` into a Decimal with `scale` digits after the point."""

    writer: DecimalType
    scale: int


@dataclass(frozen=True, slots=True)
class ReadEnumeration:
    """Read an index into `symbols`. None is a symbol that the reader does not know."""

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
    """A constructor argument: the value of the writer's field at `index`."""

    index: int


@dataclass(frozen=True, slots=True)
class Constant:
    """A constructor argument: the contract's default of a field that the writer does not have."""

    value: Any


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """Read `fields` (name, plan) in the writer's order and create a `record_type`. None: the record is skipped."""

    fields: tuple[tuple[str, ReadPlan], ...]
    record_type: type | None
    arguments: tuple[FromWire | Constant, ...]

    @property
    def type_name(self) -> str:
        """Name of the class of the records; "" if they are skipped."""
        return "" if self.record_type is None else self.record_type.__name__

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments, which are the fields of the record class in order."""
        return () if self.record_type is None else fields_of(self.record_type)

    def make(self, values: Sequence[Any]) -> Any:
        """Return the record for values in the writer's order, or None if records are skipped."""
        if self.record_type is None:
            return None
        return self.record_type(*(a.value if isinstance(a, Constant) else values[a.index] for a in self.arguments))


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse the value for this reason."""

    reason: str


ReadPlan: TypeAlias = (
    ReadPrimitive | ReadFixed | ReadDecimal | ReadEnumeration | ReadArray | ReadMap | ReadUnion | ReadRecord | Refuse
)
