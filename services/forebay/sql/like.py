"""LIKE without backtracking. Each part between two % is searched once, from left to right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from forebay.sql.limits import check_work


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a pattern between two %, in which _ matches any character.

    Args:
        text: The part, if it contains no _.
        matcher: Compiled expression for a part that contains _.
    """

    length: int
    text: str = ""
    matcher: re.Pattern[str] | None = None

    def at(self, text: str, position: int) -> bool:
        """Return whether the part matches at a position."""
        if self.matcher is None:
            return text.startswith(self.text, position)
        return self.matcher.match(text, position) is not None

    def after(self, text: str, position: int, stop: int) -> int:
        """Return the end of the first match between two positions, or -1 if there is no match. Raises LimitReached."""
        if self.matcher is None:
            result = text.find(self.text, position, stop)
            return -1 if result < 0 else result + self.length
        check_work((stop - position) * self.length, "LIKE")
        match = self.matcher.search(text, position, stop)
        return -1 if match is None else match.end()


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Return whether a text matches a pattern in which % is any text and _ any character.

    Raises ValueError for an invalid pattern, and LimitReached.
    """
    first, *rest = _short_parts(pattern, escape) if len(pattern) <= _SHORT else _parts(pattern, escape)
    if not rest:
        return len(text) == first.length and first.at(text, 0)
    last = rest.pop()
    position, stop = first.length, len(text) - last.length
    if position > stop or not first.at(text, 0) or not last.at(text, stop):
        return False
    for part in rest:
        position = part.after(text, position, stop)
        if position < 0:
            return False
    return True


def _parts(pattern: str, escape: str) -> tuple[Part, ...]:
    parts: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            following = next(letters, None)
            if following is None:
                raise ValueError("the pattern ends with its escape character")
            parts[-1].append(following)
        elif letter == "%":
            parts.append([])
        else:
            parts[-1].append(None if letter == "_" else letter)
    return tuple(map(_part, parts))


_SHORT = 1_000
_short_parts = lru_cache(1024)(_parts)


def _part(letters: list[str | None]) -> Part:
    if None not in letters:
        return Part(len(letters), "".join(letter or "" for letter in letters))
    if len(letters) > _SHORT:
        check_work(len(letters) ** 2 * _SHORT, "LIKE")
    regex = "".join("." if letter is None else re.escape(letter) for letter in letters)
    return Part(len(letters), matcher=re.compile(regex, re.DOTALL))
