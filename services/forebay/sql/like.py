"""LIKE, in time that grows with the text: each part between two % is looked for once, from left to right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from forebay.sql.limits import check_work


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between two %: letters, and for each _ any letter.

    Args:
        text: the letters, if none of them is any letter.
    """

    length: int
    text: str | None
    matcher: re.Pattern[str]

    def at(self, text: str, position: int) -> bool:
        """Tell whether the part stands at a position."""
        if self.text is not None:
            return text.startswith(self.text, position)
        return self.matcher.match(text, position) is not None

    def after(self, text: str, position: int, stop: int) -> int:
        """Return where the part first ends behind a position and before another; -1: nowhere. Raises LimitReached."""
        if self.text is not None:
            found = text.find(self.text, position, stop)
            return -1 if found < 0 else found + self.length
        check_work((stop - position) * self.length, "LIKE")
        match = self.matcher.search(text, position, stop)
        return -1 if match is None else match.end()


def like(text: str, pattern: str, escape: str = "") -> bool:
    """Tell whether a text has the pattern: % is any text, _ any letter. Raises ValueError, LimitReached."""
    first, *rest = _parts(pattern, escape)
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


@lru_cache(1024)
def _parts(pattern: str, escape: str) -> tuple[Part, ...]:
    parts: list[list[str | None]] = [[]]
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            following = next(letters, None)
            if following is None:
                raise ValueError(f"the pattern {pattern!r} ends with its escape character")
            parts[-1].append(following)
        elif letter == "%":
            parts.append([])
        else:
            parts[-1].append(None if letter == "_" else letter)
    return tuple(map(_part, parts))


def _part(letters: list[str | None]) -> Part:
    regex = "".join("." if letter is None else re.escape(letter) for letter in letters)
    text = None if None in letters else "".join(letter or "" for letter in letters)
    return Part(len(letters), text, re.compile(regex, re.DOTALL))
