"""Parser of character classes in brackets and of escapes in Java's regular expressions."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from forebay.sql.regexes.classes import PREDEFINED, property_set
from forebay.sql.regexes.source import PatternSource

_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_LOWER, _UPPER = (0x61, 0x7A), (0x41, 0x5A)
_CASE = 0x20


@dataclass(frozen=True, slots=True)
class CharacterSet:
    """A set of characters.

    Args:
        parts: Ranges of code points, texts in the library's syntax, and sets.
        also: Sets that must also contain a character (`&&`).
    """

    parts: tuple[tuple[int, int] | str | CharacterSet, ...]
    negated: bool = False
    also: tuple[CharacterSet, ...] = ()

    @property
    def letter(self) -> int | None:
        """The code point, if the set contains only one."""
        match self.parts:
            case ((int() as low, int() as high),) if low == high and not self.negated and not self.also:
                return low
        return None

    def text(self, *, any_case: bool = False) -> str:
        """Return the set in the library's syntax.

        Args:
            any_case: Whether ASCII letters match regardless of case.
        """
        if self.also:
            one = CharacterSet(self.parts)
            return f"[{'&&'.join(item.text(any_case=any_case) for item in (one, *self.also))}]"
        if self.letter is not None and not any_case:
            return escape_letter(chr(self.letter))
        return f"[{'^' if self.negated else ''}{''.join(_show(part, any_case) for part in self.parts)}]"


def _show(part: tuple[int, int] | str | CharacterSet, any_case: bool) -> str:
    if isinstance(part, CharacterSet):
        return part.text(any_case=any_case)
    if isinstance(part, str):
        return part
    # As in Java without (?u), ignore case only for ASCII. The library's own flag would apply to all of Unicode.
    ranges = [part]
    if any_case:
        for (low, high), step in ((_LOWER, -_CASE), (_UPPER, _CASE)):
            begin, end = max(low, part[0]), min(high, part[1])
            if begin <= end:
                ranges.append((begin + step, end + step))
    return "".join(
        escape_letter(chr(a)) if a == b else f"{escape_letter(chr(a))}-{escape_letter(chr(b))}" for a, b in ranges
    )


def escape_letter(letter: str) -> str:
    """Return a letter escaped so that it matches itself anywhere in a pattern."""
    if letter.isascii() and letter.isalnum():
        return letter
    return f"\\U{ord(letter):08x}"


def set_of(source: PatternSource) -> CharacterSet:
    """Return the set whose opening bracket has been read. Raises PatternError."""
    negated = source.take("^")
    parts: list[tuple[int, int] | str | CharacterSet] = []
    operands: list[CharacterSet] = []
    while True:
        if source.at_end:
            source.fail("a set is not closed: write ]")
        if source.take("&&"):
            if negated or not parts:
                source.fail(
                    "&& needs a set on both sides, and none of them negated by ^ as a whole: put it in brackets"
                )
            operands.append(CharacterSet(tuple(parts)))
            parts = []
        elif (parts or operands) and source.take("]"):  # a bracket that comes first is literal
            break
        else:
            parts.append(_part(source))
    if operands and not parts:
        source.fail("&& needs a set on both sides")
    if operands:
        return CharacterSet(operands[0].parts, also=(*operands[1:], CharacterSet(tuple(parts))))
    return CharacterSet(tuple(parts), negated)


def _part(source: PatternSource) -> tuple[int, int] | str | CharacterSet:
    letter = source.next()
    if letter == "[":
        return set_of(source)
    if letter == "\\":
        result = escape(source)
        if result.letter is None:
            return result
        low = result.letter
    else:
        low = ord(letter)
    if source.peek() != "-":
        return low, low
    source.skip(1)
    if source.peek() in ("]", "["):
        source.skip(-1)
        return low, low
    last = source.next()
    high = escape(source).letter if last == "\\" else ord(last)
    if high is None or high < low:
        source.fail("a range of characters ends before it begins")
    return low, high


def escape(source: PatternSource) -> CharacterSet:
    """Return the set of characters that an escape matches. Its backslash has been read. Raises PatternError."""
    letter = source.next_plain()
    if letter in _CONTROLS:
        return _one(_CONTROLS[letter])
    if letter.lower() in PREDEFINED and letter.isascii():
        return CharacterSet((PREDEFINED[letter.lower()],), negated=letter.isupper())
    match letter:
        case "p" | "P":
            name = source.until("}") if source.take("{") else source.next_plain()
            try:
                inside = property_set(name, any_case=source.flags.any_case)
            except ValueError as error:
                source.fail(str(error))
            return CharacterSet((inside,), negated=letter == "P")
        case "x":
            return _code(source, source.until("}") if source.take("{") else _next(source, 2))
        case "u":
            return _code(source, _next(source, 4))
        case "0":
            return _octal(source)
        case "c":
            return _one(chr(ord(source.next_plain()) ^ 0x40))
        case "N":
            return _named_set(source)
    if letter.isascii() and letter.isalnum():
        source.fail(f"\\{letter} means nothing here")
    return _one(letter)


def _one(letter: str) -> CharacterSet:
    return CharacterSet(((ord(letter), ord(letter)),))


def _next(source: PatternSource, number: int) -> str:
    return "".join(source.next_plain() for _ in range(number))


def _code(source: PatternSource, digits: str) -> CharacterSet:
    if not all(digit in "0123456789abcdefABCDEF" for digit in digits) or not 0 < len(digits) <= 8:
        source.fail(f"{digits!r} is not a number of a character")
    code = int(digits, 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        source.fail(f"{digits!r} is not a number of a character")
    return _one(chr(code))


def _octal(source: PatternSource) -> CharacterSet:
    digits = ""
    while len(digits) < 3 and source.peek_plain() in tuple("01234567") and int(digits + source.peek_plain(), 8) < 256:
        digits += source.next_plain()
    if not digits:
        source.fail("write an octal number as \\0101")
    return _one(chr(int(digits, 8)))


def _named_set(source: PatternSource) -> CharacterSet:
    name = source.until("}") if source.take("{") else ""
    try:
        return _one(unicodedata.lookup(name))
    except KeyError:
        source.fail(f"there is no character {name!r}")
