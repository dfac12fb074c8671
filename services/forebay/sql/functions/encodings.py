"""Functions that convert between bytes and texts or numbers."""

from __future__ import annotations

import base64
import hashlib
import re
import struct
from collections.abc import Callable

from forebay.sql.functions.registry import function
from forebay.sql.types import BIGINT, BYTES, DOUBLE, INT, STRING

_ORDERS = {"BIG_ENDIAN": ">", "LITTLE_ENDIAN": "<"}
_NAMES = ("hex", "utf8", "ascii", "base64")
_ESCAPE = re.compile(r"\\(?:u+([0-9a-fA-F]{4})|([0-3]?[0-7]{1,2})|(.))", re.DOTALL)
_ESCAPED = {"b": "\b", "n": "\n", "t": "\t", "f": "\f", "r": "\r"}


def encode(text: str, source: str, target: str) -> str:
    """Return a text in another encoding: hex, utf8, ascii, base64. Raises ValueError."""
    one, other = _known(source), _known(target)
    if one == other:
        raise ValueError("the text has this encoding already")
    data = (
        bytes.fromhex(_plain_hex(text)) if one == "hex" else base64_of(text) if one == "base64" else _bytes(text, one)
    )
    return data.hex() if other == "hex" else text_of(data, other)


def to_bytes(text: str, encoding: str) -> bytes:
    """Return the bytes that a text of hex, utf8, ascii or base64 encodes. Raises ValueError."""
    name = _known(encoding)
    if name == "hex":
        if re.search(r"\s", text):
            raise ValueError("there are blanks between the digits")
        return bytes.fromhex(text)
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True) if name == "base64" else _bytes(text, name)


def _bytes(text: str, name: str) -> bytes:
    return text.encode("utf-8" if name == "utf8" else "ascii", "replace")


def text_of(data: bytes, encoding: str) -> str:
    """Return bytes as a text of hex, utf8, ascii, base64. Raises ValueError."""
    match _known(encoding):
        case "hex":
            return data.hex().upper()
        case "base64":
            return base64.b64encode(data).decode()
        case "utf8":
            return data.decode("utf-8", "replace")
    return data.decode("ascii", "replace")


def base64_of(text: str) -> bytes:
    """Return the bytes of a base64 text. Characters outside of the alphabet of base64 are ignored."""
    plain = re.sub(r"[^A-Za-z0-9+/]", "", text.partition("=")[0].translate(str.maketrans("-_", "+/")))
    if len(plain) % 4 == 1:
        plain = plain[:-1]
    return base64.b64decode(plain + "=" * (-len(plain) % 4))


def _known(encoding: str) -> str:
    name = encoding.lower()
    if name not in _NAMES:
        raise ValueError(f"{encoding!r} is not one of {', '.join(_NAMES)}")
    return name


def _plain_hex(text: str) -> str:
    """Return hex digits without a prefix 0x, or without X and quotes around them."""
    if text.startswith("0x"):
        return "0" * (len(text) % 2) + text[2:]
    digits = text[2:-1] if re.fullmatch(r"[xX]'.*'", text) else text
    if re.search(r"\s", digits):
        raise ValueError("there are blanks between the digits")
    return digits


def character(code: int) -> str | None:
    """Return the character of a code point, or None if it does not exist or is half of a surrogate pair."""
    return chr(code) if 0 <= code <= 0x10FFFF and not 0xD800 <= code < 0xE000 else None


def character_of_escape(text: str) -> str | None:
    r"""Return the text of Java's escapes such as \u004b, or None if it is not an escape. Raises ValueError."""
    if len(text) < 6 or not text.startswith("\\u"):
        return None
    units = _ESCAPE.sub(_unescape, text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16")


def _unescape(match: re.Match[str]) -> str:
    code, octal, letter = match.groups()
    if code:
        return chr(int(code, 16))
    if octal:
        return chr(int(octal, 8))
    if letter == "u":
        raise ValueError(r"\u needs four digits")
    return _ESCAPED.get(letter, str(letter))


def _number(kind: str) -> Callable[..., int | float]:
    def number(data: bytes, order: str = "BIG_ENDIAN") -> int | float:
        """Return the number from its bytes. Raises ValueError for a wrong number of bytes or an unknown byte order."""
        sign = _ORDERS.get(order.upper())
        if sign is None or len(data) != struct.calcsize(kind):
            raise ValueError(f"{len(data)} bytes in the order {order}")
        result: int | float = struct.unpack(sign + kind, data)[0]
        return result

    return number


def md5(text: str) -> str:
    """Return the MD5 digest of a text as hex digits."""
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


function("ENCODE", "s s s", STRING, encode)
function("TO_BYTES", "s s", BYTES, to_bytes)
function("FROM_BYTES", "y s", STRING, text_of)
function("CHR", "i", STRING, character)
function("CHR", "s", STRING, character_of_escape)
function("INT_FROM_BYTES", "y s?", INT, _number("i"))
function("BIGINT_FROM_BYTES", "y s?", BIGINT, _number("q"))
function("DOUBLE_FROM_BYTES", "y s?", DOUBLE, _number("d"))
function("MD5", "s", STRING, md5)
