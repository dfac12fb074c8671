"""Parser of Java's patterns of times, such as yyyy-MM-dd HH:mm[:ss]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

MONTHS = tuple("January February March April May June July August September October November December".split())  # noqa: SIM905
DAYS = tuple("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split())  # noqa: SIM905
_MOST_LETTERS = 500
DATE_LETTERS = frozenset("GuyDMLdQqYwWEec")
TIME_LETTERS = frozenset("ahKkHmsSAnN")
ZONE_LETTERS = frozenset("VzOXxZ")
_MOST = {
    **dict.fromkeys("uynNAY", 19),
    **dict.fromkeys("GMLQqEecXxZ", 5),
    "D": 3,
    **dict.fromkeys("dwhHkKms", 2),
    **dict.fromkeys("aW", 1),
    "S": 9,
    "z": 3,
    "V": 2,
    "O": 4,
}
"""Allowed number of repetitions of each letter."""
_UNSUPPORTED = {
    "z": "the name of a time zone in full: write z, VV or XXX",
    "p": "a padded field",
    "F": "the week of the month: write W or d",
    "g": "a modified Julian day",
    "B": "a period of the day: write a",
    "v": "a generic time zone: write z, VV or XXX",
}


@dataclass(frozen=True, slots=True)
class Field:
    """A field, which is a letter with a number of repetitions, such as yyyy."""

    letter: str
    count: int

    @property
    def is_text(self) -> bool:
        """Whether the field is a word."""
        return (self.count > 2 and self.letter in "MLQqec") or self.letter in "EGa"


@dataclass(frozen=True, slots=True)
class Text:
    """Literal text."""

    text: str


@dataclass(frozen=True, slots=True)
class Section:
    """Optional parts in brackets."""

    parts: tuple[Part, ...]


Part = Field | Text | Section


def check_length(pattern: str) -> None:
    """Raise ValueError if a pattern is too long to be intended."""
    if len(pattern) > _MOST_LETTERS:
        raise ValueError(f"the pattern has {len(pattern)} characters, at most {_MOST_LETTERS} are allowed")


@lru_cache(1024)
def parts_of(pattern: str) -> tuple[Part, ...]:
    """Return the parts of a pattern. Raises ValueError if it is invalid in Java, or contains an unsupported letter."""
    check_length(pattern)
    open_: list[list[Part]] = [[]]
    at = 0
    while at < len(pattern):
        letter = pattern[at]
        stop = at + 1
        if letter.isascii() and letter.isalpha():
            while pattern[stop : stop + 1] == letter:
                stop += 1
            open_[-1].append(_field(letter, stop - at, pattern))
        elif letter == "'":
            text, stop = _quote(pattern, at)
            open_[-1].append(Text(text))
        elif letter == "[":
            open_.append([])
        elif letter == "]":
            if len(open_) == 1:
                raise ValueError(f"the pattern {pattern!r} has a ] without a [ before it")
            section = Section(tuple(open_.pop()))
            open_[-1].append(section)
        elif letter in "{}#":
            raise ValueError(f"the pattern {pattern!r} has a {letter}: write it in single quotes")
        else:
            open_[-1].append(Text(letter))
        at = stop
    while len(open_) > 1:  # Java closes what is left open
        section = Section(tuple(open_.pop()))
        open_[-1].append(section)
    return tuple(open_[0])


def _field(letter: str, count: int, pattern: str) -> Field:
    if letter not in _MOST:
        what = _UNSUPPORTED.get(letter)
        said = f"means {what}, which is not supported" if what else "means nothing"
        raise ValueError(f"the letter {letter} {said} in the pattern {pattern!r}")
    wrong = (letter == "c" and count == 2) or (letter == "O" and count in (2, 3)) or (letter == "V" and count != 2)
    if count > _MOST[letter] or wrong:
        what = f" ({_UNSUPPORTED[letter]} is not supported)" if letter == "z" and count == 4 else ""
        raise ValueError(f"the letter {letter} can't stand {count} times in the pattern {pattern!r}{what}")
    return Field(letter, count)


def _quote(pattern: str, at: int) -> tuple[str, int]:
    """Return the text in quotes at a position, and its end. Two quotes are a literal quote."""
    text, stop = "", at + 1
    while True:
        end = pattern.find("'", stop)
        if end < 0:
            raise ValueError(f"the pattern {pattern!r} has a quote that is not closed")
        text += pattern[stop:end]
        stop = end + 1
        if pattern[stop : stop + 1] != "'" or end == at + 1:
            return text or "'", stop
        text += "'"
        stop += 1


def letters_of(parts: Iterable[Part]) -> frozenset[str]:
    """Return the letters of all fields, including those of optional sections."""
    results: set[str] = set()
    for part in parts:
        match part:
            case Field(letter, _):
                results.add(letter)
            case Section(inside):
                results |= letters_of(inside)
    return frozenset(results)
