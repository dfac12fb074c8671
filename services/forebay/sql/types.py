"""SQL types with the names of ksqlDB, and their common types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar type."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class DecimalType:
    """Type of decimals with `precision` digits, of which `scale` are after the decimal point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """Type of arrays."""

    item: SqlType

    def __str__(self) -> str:
        return f"ARRAY<{self.item}>"


@dataclass(frozen=True, slots=True)
class MapType:
    """Type of maps."""

    key: SqlType
    value: SqlType

    def __str__(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True, slots=True)
class StructType:
    """Type of structs, which have named fields in order."""

    fields: tuple[tuple[str, SqlType], ...]

    def __str__(self) -> str:
        return f"STRUCT<{', '.join(f'`{name}` {kind}' for name, kind in self.fields)}>"

    def index(self, name: str) -> int | None:
        """Return the position of a field, or None if there is no field with this name."""
        return next((at for at, (field, _) in enumerate(self.fields) if field == name), None)


SqlType = Scalar | DecimalType | ArrayType | MapType | StructType

INT = Scalar("INTEGER")
BIGINT = Scalar("BIGINT")
DOUBLE = Scalar("DOUBLE")
BOOLEAN = Scalar("BOOLEAN")
STRING = Scalar("STRING")
BYTES = Scalar("BYTES")
DATE = Scalar("DATE")
TIME = Scalar("TIME")
TIMESTAMP = Scalar("TIMESTAMP")
NULL = Scalar("NULL")
"""Type of a null whose type is not known."""

NAMES: dict[str, SqlType] = {
    "INT": INT,
    "INTEGER": INT,
    "BIGINT": BIGINT,
    "DOUBLE": DOUBLE,
    "BOOLEAN": BOOLEAN,
    "STRING": STRING,
    "VARCHAR": STRING,
    "BYTES": BYTES,
    "DATE": DATE,
    "TIME": TIME,
    "TIMESTAMP": TIMESTAMP,
}
"""Types by their names in SQL."""

TIMES = (DATE, TIME, TIMESTAMP)
"""Types of dates and times, whose values are whole numbers of days, milliseconds of a day, or milliseconds since 1970.
"""

_DIGITS = {INT: 10, BIGINT: 19}


def is_number(kind: SqlType) -> bool:
    """Return whether a type is numeric."""
    return kind in (INT, BIGINT, DOUBLE) or isinstance(kind, DecimalType)


def is_untyped(kind: SqlType) -> bool:
    """Return whether the type of a value, or of a part of it, is not known."""
    return NULL in parts_of(kind)


def parts_of(kind: SqlType) -> Iterator[SqlType]:
    """Yield a type and the types of its parts, at any depth."""
    yield kind
    match kind:
        case ArrayType(item):
            yield from parts_of(item)
        case MapType(key, value):
            yield from parts_of(key)
            yield from parts_of(value)
        case StructType(fields):
            for _, part in fields:
                yield from parts_of(part)


def as_decimal(kind: SqlType) -> DecimalType:
    """Return the decimal type that contains every value of a type of whole numbers."""
    return kind if isinstance(kind, DecimalType) else DecimalType(_DIGITS[kind], 0)  # type: ignore[index]


def common(one: SqlType, other: SqlType) -> SqlType | None:
    """Return the type to which values of both types can be converted, or None if there is no such type."""
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if is_number(one) and is_number(other):
        return _common_number(one, other)
    if one == STRING and other in TIMES:
        return other
    if other == STRING and one in TIMES:
        return one
    if {one, other} == {DATE, TIMESTAMP}:
        return TIMESTAMP
    match one, other:
        case ArrayType(), ArrayType():
            item = common(one.item, other.item)
            return None if item is None else ArrayType(item)
        case MapType(), MapType():
            key, value = common(one.key, other.key), common(one.value, other.value)
            return None if key is None or value is None else MapType(key, value)
        case StructType(), StructType():
            return _common_struct(one, other)
    return None


def _common_number(one: SqlType, other: SqlType) -> SqlType:
    if DOUBLE in (one, other):
        return DOUBLE
    if not isinstance(one, DecimalType) and not isinstance(other, DecimalType):
        return BIGINT
    left, right = as_decimal(one), as_decimal(other)
    scale = max(left.scale, right.scale)
    return DecimalType(max(left.precision - left.scale, right.precision - right.scale) + scale, scale)


def _common_struct(one: StructType, other: StructType) -> SqlType | None:
    results: dict[str, SqlType] = dict(one.fields)
    for name, kind in other.fields:
        shared = common(results.get(name, NULL), kind)
        if shared is None:
            return None
        results[name] = shared
    return StructType(tuple(results.items()))
