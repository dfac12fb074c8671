"""Codec of rows as lines of CSV, with the same bytes as in ksqlDB."""

from __future__ import annotations

import base64
import csv
import re
from typing import Any

from forebay.codec import DecodeError
from forebay.sql import casts
from forebay.sql.arithmetic import exact_decimal_of
from forebay.sql.catalog import Named
from forebay.sql.encodings.readers import NO_NUMBERS, boolean_of_text, brief, time_of_day
from forebay.sql.number_texts import decimal_of_text, double_of_text, trim, whole_of
from forebay.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    STRING,
    TIME,
    TIMES,
    TIMESTAMP,
    DecimalType,
    SqlType,
)

# Python's parser refuses fields above 128 KiB by default. The topic limits the size of a record anyway.
csv.field_size_limit(max(csv.field_size_limit(), (1 << 31) - 1))
_JAVA_BLANKS = r"\t\v\f\x1c-\x20\u1680\u2000-\u2006\u2008-\u200a\u2028\u2029\u205f\u3000"
"""Character class of whitespace by Java's `Character.isWhitespace`, without line breaks."""


class DelimitedRow:
    """Codec of rows as lines of CSV, in which an empty field is null."""

    is_frozen = True

    def __init__(self, columns: tuple[Named, ...], delimiter: str) -> None:
        self._columns = columns
        self._delimiter = delimiter
        mark = re.escape(delimiter)
        blanks = rf"(?:(?!{mark})[{_JAVA_BLANKS}])*"
        self._quoted = re.compile(rf'((?:^|{mark})"[^"]*(?:""[^"]*)*"){blanks}(?=[\r\n{mark}]|\Z)')
        self._readers = [casts.of_nullable(_of_text(column.type)) for column in columns]
        self._writers = [casts.of_nullable(_to_text(column.type)) for column in columns]

    def decode(self, data: bytes) -> Any:
        try:
            parts = self._split(data.decode())
        except (ValueError, csv.Error) as error:
            raise DecodeError(f"{brief(data)} is not a line of columns: {error}") from error
        if len(parts) != len(self._columns):
            raise DecodeError(f"{brief(data)} has {len(parts)} columns, {len(self._columns)} are declared")
        try:
            return tuple(read(part or None) for read, part in zip(self._readers, parts, strict=True))
        except (ValueError, ArithmeticError) as error:
            raise DecodeError(f"{brief(data)} does not fit its columns: {error}") from error

    def _split(self, text: str) -> list[str]:
        try:
            return self._parse(text)
        except csv.Error:
            # commons-csv ignores blanks between a closing quote and the delimiter, but Python's parser does not.
            plain = self._quoted.sub(r"\1", text)
        try:
            return self._parse(plain)
        except csv.Error as error:
            if not str(error).startswith("new-line"):
                raise
            raise ValueError(
                "it has several lines; write a record for each, or quote a field with line breaks"
            ) from error

    def _parse(self, text: str) -> list[str]:
        return next(csv.reader([text], delimiter=self._delimiter, strict=True), [])

    def encode(self, record: Any) -> bytes:
        texts = [write(value) for write, value in zip(self._writers, record, strict=True)]
        parts = ["" if text is None else self._quote(text, is_first=not at) for at, text in enumerate(texts)]
        return self._delimiter.join(parts).encode()

    def _quote(self, text: str, *, is_first: bool) -> str:
        """Return a field quoted as by commons-csv 1.4. A key with other bytes would be in another partition."""
        if text:
            starts = _is_mark(text[0]) if is_first else text[0] <= "#"
            if not starts and text[-1] > " " and not any(item in text for item in (self._delimiter, '"', "\r", "\n")):
                return text
        elif not is_first:
            return text
        return '"' + text.replace('"', '""') + '"'


def _is_mark(letter: str) -> bool:
    return not (letter.isascii() and letter.isalnum())


def _of_text(kind: SqlType) -> casts.Caster | None:
    if isinstance(kind, DecimalType):
        return lambda text: exact_decimal_of(decimal_of_text(text), kind.precision, kind.scale)
    special: dict[SqlType, casts.Caster] = {
        INT: lambda text: whole_of(text, 32),
        BIGINT: lambda text: whole_of(text, 64),
        BOOLEAN: boolean_of_text,
        BYTES: _of_base64,
        DATE: lambda text: whole_of(text, 32),
        TIME: lambda text: time_of_day(whole_of(text, 32)),
        TIMESTAMP: lambda text: whole_of(text, 64),
        DOUBLE: lambda text: float(text) if trim(text) in NO_NUMBERS else double_of_text(text),
    }
    return special.get(kind) or casts.caster(STRING, kind)


def _of_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _to_text(kind: SqlType) -> casts.Caster:
    if kind == BYTES:
        return lambda value: base64.b64encode(value).decode()
    return str if kind in TIMES else casts.texter(kind)
