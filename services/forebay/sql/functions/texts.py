"""Functions of texts and bytes."""

from __future__ import annotations

import base64
import re
import uuid
from typing import Any

from forebay.sql.errors import SqlError
from forebay.sql.functions.registry import function, special
from forebay.sql.generate import Generator, Typed
from forebay.sql.syntax import Call
from forebay.sql.types import BYTES, INT, NULL, STRING, ArrayType


def substring(text: Any, position: int, length: int | None = None) -> Any:
    """Return a part of a text or of bytes; positions count from 1, from the end if negative."""
    start = position - 1 if position > 0 else max(0, len(text) + position) if position < 0 else 0
    return text[start:] if length is None else text[start : start + max(0, length)]


def initcap(text: str) -> str:
    """Return the text with each word's first letter large and the others small."""
    return re.sub(r"\S+", lambda word: word[0][:1].upper() + word[0][1:].lower(), text)


MOST_LETTERS = 1 << 20
"""That LPAD and RPAD fill a text up to: far beyond what a record holds."""


def lpad(text: Any, length: int, padding: Any) -> Any:
    """Return the text filled up in front to a length, or cut to it; None where that can't be."""
    if not 0 <= length <= MOST_LETTERS or not padding:
        return None
    missing = length - len(text)
    return text[:length] if missing <= 0 else (padding * missing)[:missing] + text


def rpad(text: Any, length: int, padding: Any) -> Any:
    """Return the text filled up behind to a length, or cut to it; None where that can't be."""
    if not 0 <= length <= MOST_LETTERS or not padding:
        return None
    return (text + padding * max(0, length - len(text)))[:length]


def mask(text: str, upper: str = "X", lower: str = "x", digit: str = "n", other: str = "-") -> str:
    """Return the text with its letters and digits hidden."""

    def hidden(letter: str) -> str:
        kind = upper if letter.isupper() else lower if letter.islower() else digit if letter.isdigit() else other
        return kind or letter

    return "".join(map(hidden, text))


def masked(text: str, count: int, how: str) -> str:
    """Return the text with some letters hidden: `left`, `right`, or all but these: `keep_left`, `keep_right`."""
    at = {"left": count, "keep_right": max(0, len(text) - count)}.get(how)
    if at is not None:
        return mask(text[:at]) + text[at:]
    at = count if how == "keep_left" else max(0, len(text) - count)
    return text[:at] + mask(text[at:])


def split(text: Any, mark: Any) -> tuple[Any, ...]:
    """Return the parts between the marks; without a mark, each letter."""
    if mark:
        return tuple(text.split(mark))
    return tuple(text[at : at + 1] for at in range(len(text)))


def instr(text: str, sought: str, position: int = 1, occurrence: int = 1) -> int:
    """Return where a text is found, counted from 1; 0: nowhere. A negative position seeks backwards."""
    at = -1
    if position > 0:
        at = position - 2
        for _ in range(occurrence):
            at = text.find(sought, at + 1)
            if at < 0:
                return 0
        return at + 1
    stop = len(text) + position + len(sought)
    for _ in range(occurrence):
        at = text.rfind(sought, 0, max(0, stop))
        if at < 0:
            return 0
        stop = at + len(sought) - 1
    return at + 1


def regexp_extract(pattern: str, text: str, group: int = 0) -> str | None:
    """Return what the pattern, or a group of it, finds first; None: nothing."""
    found = re.search(pattern, text)
    return None if found is None or group > (found.re.groups) else found[group]


def regexp_extract_all(pattern: str, text: str, group: int = 0) -> tuple[str, ...] | None:
    """Return all that the pattern finds."""
    return tuple(found[group] for found in re.finditer(pattern, text))


def regexp_split(text: str, pattern: str) -> tuple[str, ...]:
    """Return the parts between what the pattern finds."""
    return tuple(re.split(pattern, text)) if pattern else tuple(text)


def concat(*parts: Any) -> Any:
    """Return what is not null, joined."""
    given = [part for part in parts if part is not None]
    return (b"" if isinstance(given[0], bytes) else "").join(given) if given else ""


def concat_ws(separator: Any, *parts: Any) -> Any:
    """Return what is not null, joined by a separator; None without one."""
    return None if separator is None else separator.join(part for part in parts if part is not None)


def encode(text: str, source: str, target: str) -> str:
    """Return a text in another encoding: hex, utf8, ascii, base64. Raises ValueError."""
    return from_bytes(to_bytes(text, source), target)


def to_bytes(text: str, encoding: str) -> bytes:
    """Return the bytes that a text of hex, utf8, ascii, base64 stands for. Raises ValueError."""
    match encoding.lower():
        case "hex":
            plain = re.sub(r"^(0x|[xX]')|'$", "", text)
            return bytes.fromhex("0" * (len(plain) % 2) + plain)
        case "utf8" | "ascii" as name:
            return text.encode(name, "replace")
        case "base64":
            return base64.b64decode(text)
    raise ValueError(f"{encoding!r} is none of hex, utf8, ascii, base64")


def from_bytes(data: bytes, encoding: str) -> str:
    """Return bytes as a text of hex, utf8, ascii, base64. Raises ValueError."""
    match encoding.lower():
        case "hex":
            return data.hex().upper()
        case "utf8" | "ascii" as name:
            return data.decode(name, "replace")
        case "base64":
            return base64.b64encode(data).decode()
    raise ValueError(f"{encoding!r} is none of hex, utf8, ascii, base64")


def chr_of(code: int | str) -> str:
    """Return the letter of a number, or of a text that is its escape. Raises ValueError."""
    return chr(code) if isinstance(code, int) else code.encode("ascii").decode("unicode_escape")


def int_of(data: bytes, order: str = "BIG_ENDIAN") -> int:
    """Return the whole number that bytes are."""
    return int.from_bytes(data, "little" if order == "LITTLE_ENDIAN" else "big", signed=True)


@special("CONCAT", 1)
def _concat(make: Generator, call: Call) -> Typed:
    arguments = [make.of(each) for each in call.arguments]
    kind = BYTES if any(each.type == BYTES for each in arguments) else STRING
    if any(each.type not in (kind, NULL) for each in arguments):
        raise SqlError(call.place, "CONCAT joins texts, or BYTES: CAST the values to STRING")
    return Typed(f"{make.constant(concat)}({', '.join(each.source for each in arguments)})", kind)


function("LEN", "s", INT, len)
function("LEN", "y", INT, len)
function("UCASE", "s", STRING, str.upper)
function("LCASE", "s", STRING, str.lower)
function("TRIM", "s", STRING, str.strip)
function("INITCAP", "s", STRING, initcap)
for _kind, _letter in ((STRING, "s"), (BYTES, "y")):
    function("SUBSTRING", f"{_letter} i i?", _kind, substring)
    function("LPAD", f"{_letter} i {_letter}", _kind, lpad)
    function("RPAD", f"{_letter} i {_letter}", _kind, rpad)
    function("SPLIT", f"{_letter} {_letter}", ArrayType(_kind), split)
    function("CONCAT_WS", f"{_letter} {_letter}+", _kind, concat_ws, takes_null=True)
function("REPLACE", "s s s", STRING, str.replace)
function("REVERSE", "s", STRING, lambda text: text[::-1])
function("INSTR", "s s i? i?", INT, instr)
function("MASK", "s s? s? s? s?", STRING, mask)
for _how in ("left", "right", "keep_left", "keep_right"):
    function(f"MASK_{_how.upper()}", "s i", STRING, lambda text, count, how=_how: masked(text, count, how))
function("REGEXP_EXTRACT", "s s i?", STRING, regexp_extract)
function("REGEXP_EXTRACT_ALL", "s s i?", ArrayType(STRING), regexp_extract_all)
function("REGEXP_REPLACE", "s s s", STRING, lambda text, pattern, by: re.sub(pattern, by.replace("$", "\\"), text))
function("REGEXP_SPLIT_TO_ARRAY", "s s", ArrayType(STRING), regexp_split)
function("ENCODE", "s s s", STRING, encode)
function("TO_BYTES", "s s", BYTES, to_bytes)
function("FROM_BYTES", "y s", STRING, from_bytes)
function("CHR", "i", STRING, chr_of)
function("CHR", "s", STRING, chr_of)
function("INT_FROM_BYTES", "y s?", INT, int_of)
function("BIGINT_FROM_BYTES", "y s?", INT, int_of)
function("UUID", "", STRING, lambda: str(uuid.uuid4()))
