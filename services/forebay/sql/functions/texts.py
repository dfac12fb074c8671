"""Functions for texts and bytes."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any

from forebay.sql.binding import Binder
from forebay.sql.bound import Bound
from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import function, special
from forebay.sql.limits import create_letters
from forebay.sql.syntax import Call
from forebay.sql.types import BYTES, INT, NULL, STRING, ArrayType


def substring(text: Any, position: int, length: int | None = None) -> Any:
    """Return a part of a text or of bytes. Positions start at 1, and negative positions count from the end."""
    start = position - 1 if position > 0 else max(0, len(text) + position) if position < 0 else 0
    return text[start:] if length is None else text[start : start + max(0, length)]


def initcap(text: str) -> str:
    """Return the text with each word capitalized, and other letters in lower case. Leading blanks are removed."""
    words = re.findall(r"[^ \t\n\x0b\f\r]+[ \t\n\x0b\f\r]*", text.lower())
    return "".join(word[:1].upper() + word[1:] for word in words)


def trim(text: str) -> str:
    """Return the text without leading and trailing blanks and control characters."""
    return text.strip(_BLANKS)


_BLANKS = "".join(map(chr, range(0x21)))


def lpad(text: Any, length: int, padding: Any) -> Any:
    """Return the text padded on the left or cut to a length, or None for invalid arguments. Raises LimitReached."""
    if length < 0 or not padding:
        return None
    create_letters(length, "LPAD")
    missing = length - len(text)
    return text[:length] if missing <= 0 else _repeat(padding, missing) + text


def rpad(text: Any, length: int, padding: Any) -> Any:
    """Return the text padded on the right or cut to a length, or None for invalid arguments. Raises LimitReached."""
    if length < 0 or not padding:
        return None
    create_letters(length, "RPAD")
    missing = length - len(text)
    return text[:length] if missing <= 0 else text + _repeat(padding, missing)


def _repeat(padding: Any, length: int) -> Any:
    return (padding * (length // len(padding) + 1))[:length]


def replace(text: str, old: str, new: str) -> str:
    """Return the text with each occurrence of `old` replaced. Raises LimitReached."""
    if len(new) > len(old):
        create_letters(len(text) + text.count(old) * (len(new) - len(old)), "REPLACE")
    return text.replace(old, new)


def split(text: Any, mark: Any) -> tuple[Any, ...]:
    """Return the parts between the delimiters. With an empty delimiter, return the characters."""
    if mark or not text:
        return tuple(text.split(mark)) if mark else (text,)
    return tuple(text[at : at + 1] for at in range(len(text)))


def instr(text: str | None, sought: str | None, position: int | None = 1, occurrence: int | None = 1) -> int | None:
    """Return the position of a text from 1, or 0 if it is not found. A negative position searches backwards."""
    if position is None or occurrence is None:
        return None
    if text is None or sought is None or not 0 < abs(position) <= len(text) or occurrence < 1:
        return 0
    if position < 0:
        # Search the reversed text, so that occurrences are counted from the end.
        result = instr(text[::-1], sought[::-1], -position, occurrence)
        return result and len(text) - result - len(sought) + 2
    at = position - 2
    for _ in range(occurrence if sought else 1):
        at = text.find(sought, at + 1)
        if at < 0:
            return 0
    return at + 1


def _concat_of(empty: Any) -> Callable[..., Any]:
    def concat(*parts: Any) -> Any:
        """Return the concatenation of the arguments that are not null. Raises LimitReached."""
        given = [part for part in parts if part is not None]
        create_letters(sum(map(len, given)), "CONCAT")
        return empty.join(given)

    return concat


def concat_ws(separator: Any, *parts: Any) -> Any:
    """Return the arguments that are not null, joined by a separator, or None without a separator or parts.

    Raises LimitReached.
    """
    if separator is None or not parts:
        return None
    given = [part for part in parts if part is not None]
    create_letters(sum(map(len, given)) + len(separator) * len(given), "CONCAT_WS")
    return separator.join(given)


@special("CONCAT", 1)
def _concat(make: Binder, call: Call) -> Bound:
    arguments = [make.of(argument) for argument in call.arguments]
    kind = BYTES if any(argument.type == BYTES for argument in arguments) else STRING
    if any(argument.type not in (kind, NULL) for argument in arguments):
        raise SqlError(call.place, "CONCAT joins texts, or BYTES: CAST the values to STRING")
    return make.call(call.name, _concat_of(b"" if kind == BYTES else ""), arguments, kind, is_limited=True)


function("LEN", "s", INT, len)
function("LEN", "y", INT, len)
function("UCASE", "s", STRING, str.upper)
function("LCASE", "s", STRING, str.lower)
function("TRIM", "s", STRING, trim)
function("INITCAP", "s", STRING, initcap)
for _kind, _letter in ((STRING, "s"), (BYTES, "y")):
    function("SUBSTRING", f"{_letter} i i?", _kind, substring)
    function("LPAD", f"{_letter} i {_letter}", _kind, lpad, is_limited=True)
    function("RPAD", f"{_letter} i {_letter}", _kind, rpad, is_limited=True)
    function("SPLIT", f"{_letter} {_letter}", ArrayType(_kind), split)
    function("CONCAT_WS", f"{_letter} {_letter}+", _kind, concat_ws, takes_null=True, is_limited=True)
function("REPLACE", "s s s", STRING, replace, is_limited=True)
function("REVERSE", "s", STRING, lambda text: text[::-1])
function("INSTR", "s s i? i?", INT, instr, takes_null=True)
function("UUID", "", STRING, lambda: str(uuid.uuid4()))
function("UUID", "y", STRING, lambda data: str(uuid.UUID(bytes=data)))
