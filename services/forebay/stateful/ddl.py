"""Parser of schemas in DDL text ("count int, tags array<string>"), because workers have no Spark session to do it."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_SIMPLE: dict[str, Callable[[], DataType]] = {
    "boolean": BooleanType,
    "tinyint": ByteType,
    "byte": ByteType,
    "smallint": ShortType,
    "short": ShortType,
    "int": IntegerType,
    "integer": IntegerType,
    "bigint": LongType,
    "long": LongType,
    "float": FloatType,
    "real": FloatType,
    "double": DoubleType,
    "string": StringType,
    "binary": BinaryType,
    "date": DateType,
    "timestamp": TimestampType,
    "timestamp_ltz": TimestampType,
    "timestamp_ntz": TimestampNTZType,
}
_TOKEN = re.compile(r"\s*(?:(`(?:[^`]|``)*`)|('(?:[^'\\]|\\.|'')*')|(\w+)|([<>(),:]))")


class SchemaError(ValueError):
    """A schema can't be parsed, or has a type that state does not support."""


def schema_of(schema: StructType | str) -> StructType:
    """Return a schema as a StructType, from a StructType or DDL text. Raises SchemaError."""
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, str):
        return _Reader(schema).columns()
    raise SchemaError(f"{schema!r:.80} is {type(schema).__name__}: give a StructType or DDL text such as 'count int'")


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._split()
        self._at = 0

    def _split(self) -> list[str]:
        tokens, at = [], 0
        while at < len(self._text.rstrip()):
            match = _TOKEN.match(self._text, at)
            if match is None:
                raise self._error(f"{self._text[at:].strip()[:20]!r}")
            tokens.append(match.group().strip())
            at = match.end()
        return tokens

    def columns(self) -> StructType:
        """Return the columns of the whole text. If the text is only a type, the column is named `value`."""
        if len(self._tokens) == 1 and self._next.lower() in _SIMPLE:
            return StructType([StructField("value", self._type())])
        fields = self._fields(end="")
        if self._next:
            raise self._error(repr(self._next))
        return StructType(fields)

    def _fields(self, end: str) -> list[StructField]:
        fields = [self._field()]
        while self._skip(","):
            fields.append(self._field())
        if end:
            self._expect(end)
        return fields

    def _field(self) -> StructField:
        name = self._take()
        self._skip(":")
        kind, nullable = self._type(), True
        if self._skip("not"):
            self._expect("null")
            nullable = False
        if self._skip("comment"):
            self._take()
        return StructField(name[1:-1].replace("``", "`") if name.startswith("`") else name, kind, nullable)

    def _type(self) -> DataType:
        name = self._take().lower()
        if name in ("decimal", "dec", "numeric"):
            numbers = self._numbers()
            return DecimalType(*numbers) if numbers else DecimalType()
        if name in ("varchar", "char"):
            self._numbers()
            return StringType()
        if name == "interval":
            return self._interval()
        if name in ("array", "map", "struct"):
            self._expect("<")
            return self._composite(name)
        if name not in _SIMPLE:
            raise self._error(f"the type {name!r}")
        return _SIMPLE[name]()

    def _composite(self, name: str) -> DataType:
        if name == "struct":
            return StructType(self._fields(end=">"))
        first = self._type()
        if name == "array":
            self._expect(">")
            return ArrayType(first)
        self._expect(",")
        second = self._type()
        self._expect(">")
        return MapType(first, second)

    def _interval(self) -> DataType:
        units = ("day", "hour", "minute", "second")
        first = self._take().lower()
        last = self._take().lower() if self._skip("to") else first
        if first not in units or last not in units:
            raise self._error(f"the type 'interval {first} to {last}'")
        return DayTimeIntervalType(units.index(first), units.index(last))

    def _numbers(self) -> list[int]:
        if not self._skip("("):
            return []
        numbers = [int(self._take())]
        while self._skip(","):
            numbers.append(int(self._take()))
        self._expect(")")
        return numbers

    @property
    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._next
        if not token:
            raise self._error("its end")
        self._at += 1
        return token

    def _skip(self, token: str) -> bool:
        is_next = self._next.lower() == token
        self._at += is_next
        return is_next

    def _expect(self, token: str) -> None:
        if not self._skip(token):
            raise self._error(f"{self._next or 'its end'!r} in the place of {token!r}")

    def _error(self, what: str) -> SchemaError:
        return SchemaError(f"the schema {self._text!r} can't be read at {what}: write it as 'name type, name type'")
