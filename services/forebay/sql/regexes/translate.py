"""Translation of Java's regular expressions (`java.util.regex.Pattern`) to the syntax of the `regex` library.

Patterns that are invalid in Java are refused, and so are the few constructs that the library does not support.
"""

from __future__ import annotations

from dataclasses import dataclass

from forebay.sql.regexes.classes import PREDEFINED, TERMINATORS
from forebay.sql.regexes.sets import CharacterSet, escape, set_of
from forebay.sql.regexes.source import Flags, PatternSource

MOST_REPEATED = 20_000
"""Largest size of a pattern with its counted repetitions expanded, because the library expands some of them."""
_END = rf"(?=(?:\r\n|[{TERMINATORS}])?\Z)(?<!\r(?=\n))"
_LINE_END = rf"(?=\r\n|[{TERMINATORS}]|\Z)(?<!\r(?=\n))"
_LINE_START = r"(?:\A|(?<=[\n\x85\u2028\u2029]|\r(?!\n)))(?!\Z)"
_QUANTIFIERS = ("*", "+", "?", "{")
_LOOKS = ("?=", "?!", "?<=", "?<!", "?>", "?:")
_PLAIN_ESCAPES = {"A": r"\A", "z": r"\Z", "G": r"\G", "b": r"\b", "B": r"\B", "X": r"\X"}


@dataclass(frozen=True, slots=True)
class Translated:
    """A pattern of the `regex` library.

    Args:
        names: Numbers of the named groups.
    """

    pattern: str
    groups: int
    names: dict[str, int]


def translate(pattern: str) -> Translated:
    """Return Java's pattern in the syntax of the `regex` library. Raises PatternError."""
    result = _Translator(pattern)
    text, _ = result.alternatives()
    if not result.source.at_end:
        result.source.fail("unmatched closing ')'")
    # V1 enables nested sets and `&&`, which Java supports, but version 0 of the library does not.
    return Translated(f"(?V1){text}", result.groups, result.names)


class _Translator:
    def __init__(self, pattern: str) -> None:
        self.source = PatternSource(pattern)
        self.groups = 0
        self.names: dict[str, int] = {}

    def alternatives(self) -> tuple[str, int]:
        """Return the alternatives up to the end of the group, and their size. Flags set in them end with the group."""
        flags = self.source.flags
        parts, size = [], 0
        while True:
            text, more = self._sequence()
            parts.append(text)
            size += more
            if not self.source.take("|"):
                break
        self.source.flags = flags
        return "|".join(parts), size

    def _sequence(self) -> tuple[str, int]:
        result, size = "", 0
        while not self.source.at_end and self.source.peek() not in "|)":
            atom, one = self._atom()
            text, many = self._quantify(atom, one)
            result += text
            size += many
            if size > MOST_REPEATED:
                self.source.fail(f"with its repetitions it has more than {MOST_REPEATED} parts")
        return result, size

    def _atom(self) -> tuple[str, int]:
        source, flags = self.source, self.source.flags
        letter = source.next()
        match letter:
            case "(":
                return self._group()
            case "[":
                return self._case(set_of(source)), 1
            case ".":
                return ("(?s:.)" if flags.dot_all else r"[^\n]" if flags.unix else f"[^{TERMINATORS}]"), 1
            case "^":
                lines = r"(?:\A|(?<=\n))(?!\Z)" if flags.unix else _LINE_START
                return (f"(?:{lines})" if flags.multiline else r"(?:\A)"), 1
            case "$":
                return self._end(lines=flags.multiline), 1
            case "\\":
                return self._escape(), 1
            case "*" | "+" | "?":
                source.fail(f"dangling {letter!r}")
            case "{":
                source.fail("a repetition of nothing")
        return self._case(CharacterSet(((ord(letter), ord(letter)),))), 1

    def _end(self, *, lines: bool) -> str:
        if self.source.flags.unix:
            return r"(?:(?=\n|\Z))" if lines else r"(?:(?=\n?\Z))"
        return f"(?:{_LINE_END if lines else _END})"

    def _case(self, found: CharacterSet) -> str:
        flags = self.source.flags
        if flags.any_case and flags.unicode_case:
            return f"(?i-f:{found.text()})"
        return found.text(any_case=flags.any_case)

    def _escape(self) -> str:
        source = self.source
        letter = source.peek_plain()
        if letter in _PLAIN_ESCAPES:
            source.next()
            return _PLAIN_ESCAPES[letter]
        if letter == "Z":
            source.next()
            return self._end(lines=False)
        if letter == "R":
            source.next()
            return rf"(?:\r\n|[{PREDEFINED['v']}])"
        if letter == "k":
            return self._named_reference()
        if letter in tuple("123456789"):
            return self._reference()
        return self._case(escape(source))

    def _named_reference(self) -> str:
        source = self.source
        source.next()
        if not source.take("<"):
            source.fail("write \\k<name>")
        name = source.until(">")
        if name not in self.names:
            source.fail(f"there is no group {name!r} before it")
        return self._to_group(self.names[name])

    def _reference(self) -> str:
        number = int(self.source.next())
        # Java takes another digit only if a group of that number exists. With fewer than 11 groups, \11 is group 1 and
        # a 1.
        while self.source.peek_plain().isdecimal() and number * 10 + int(self.source.peek_plain()) <= self.groups:
            number = number * 10 + int(self.source.next())
        # Java compiles a reference to a group that does not exist, and it never matches.
        return self._to_group(number) if number <= self.groups else "(?!)"

    def _to_group(self, number: int) -> str:
        return rf"(?i-f:\g<{number}>)" if self.source.flags.any_case else rf"(?:\g<{number}>)"

    def _group(self) -> tuple[str, int]:
        source = self.source
        flags = source.flags
        opening = "("
        if source.at("?"):
            looks = next((item for item in _LOOKS if source.at(item)), None)
            if looks is not None:
                source.skip(len(looks))
                opening += looks
            elif source.take("?<"):
                self._name_group()
            elif not self._set_flags():
                return "(?:)", 0
            else:
                opening = "(?:"
        else:
            self.groups += 1
        inside, size = self.alternatives()
        if not source.take(")"):
            source.fail("a group is not closed")
        source.flags = flags
        return f"{opening}{inside})", size + 1

    def _name_group(self) -> None:
        name = self.source.until(">")
        if not (name.isascii() and name.isalnum() and name[0].isalpha()):
            self.source.fail(f"{name!r} is not a name of a group: write letters and digits")
        if name in self.names:
            self.source.fail(f"the group {name!r} occurs twice")
        self.groups += 1
        self.names[name] = self.groups

    def _set_flags(self) -> bool:
        """Read the flags of `(?i)` or `(?i:`. Return whether a group follows."""
        source = self.source
        source.skip(1)
        on = True
        while True:
            letter = source.next()
            if letter in (":", ")"):
                return letter == ":"
            if letter == "-" and on:
                on = False
            elif letter not in Flags.LETTERS:
                source.fail(f"there is no flag {letter!r} that could be set here")
            else:
                source.flags = source.flags.with_letter(letter, on=on)

    def _quantify(self, atom: str, size: int) -> tuple[str, int]:
        source = self.source
        counted = 1
        if source.peek() not in _QUANTIFIERS:
            return atom, size
        sign = source.next()
        if sign == "{":
            low, high = self._bounds()
            sign = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
            counted = max(1, low if high is None else high)
        how = source.next() if source.peek() in ("?", "+") else ""
        if source.peek() in _QUANTIFIERS:
            source.fail("a repetition of a repetition: put the first one in brackets")
        return f"{_unit(atom)}{sign}{how}", size * counted

    def _bounds(self) -> tuple[int, int | None]:
        source = self.source
        low, comma, high = source.until("}").partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()) or not low.isascii() or len(low + high) > 12:
            source.fail("write a repetition as {2}, {2,} or {2,5}")
        least, most = int(low), int(high) if high else None if comma else int(low)
        if most is not None and most < least:
            source.fail("the most repetitions are fewer than the least")
        return least, most


def _unit(atom: str) -> str:
    """Return an atom such that a quantifier after it applies to the whole atom."""
    return f"(?:{atom})" if atom.startswith("(?") and not atom.startswith(("(?:", "(?s:", "(?i-f:", "(?>")) else atom
