"""Reader of a Java pattern, character by character."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NoReturn


class PatternError(ValueError):
    """A regular expression is invalid in Java, or not supported. The message contains the position."""


@dataclass(frozen=True, slots=True)
class Flags:
    """The inline flags that are set, such as (?im)."""

    LETTERS: ClassVar[dict[str, str]] = {
        "i": "any_case",
        "m": "multiline",
        "s": "dot_all",
        "d": "unix",
        "u": "unicode_case",
        "x": "comments",
    }
    any_case: bool = False
    multiline: bool = False
    dot_all: bool = False
    unix: bool = False
    unicode_case: bool = False
    comments: bool = False

    def with_letter(self, letter: str, *, on: bool) -> Flags:
        """Return the flags with one flag set or cleared."""
        return replace(self, **{self.LETTERS[letter]: on})


class PatternSource:
    r"""The characters of a pattern, and the current position.

    Args:
        pattern: A Java pattern. Text between \Q and \E is literal.
    """

    def __init__(self, pattern: str) -> None:
        self.flags = Flags()
        self._pattern = pattern
        self._letters = _without_quotes(pattern)
        self._at = 0

    @property
    def at_end(self) -> bool:
        """Whether the end is reached."""
        self._skip_comments()
        return self._at >= len(self._letters)

    def peek(self) -> str:
        """Return the next character outside of comments, or "" at the end."""
        self._skip_comments()
        return self.peek_plain()

    def peek_plain(self) -> str:
        """Return the next character, including those of comments, or "" at the end."""
        return self._letters[self._at] if self._at < len(self._letters) else ""

    def next(self) -> str:
        """Return the next character outside of comments and advance. Raises PatternError at the end."""
        self._skip_comments()
        return self.next_plain()

    def next_plain(self) -> str:
        """Return the next character, including those of comments, and advance. Raises PatternError at the end."""
        if self._at >= len(self._letters):
            self.fail("it ends too early")
        self._at += 1
        return self._letters[self._at - 1]

    def at(self, text: str) -> bool:
        """Return whether the next characters equal a text."""
        self._skip_comments()
        return self._letters[self._at : self._at + len(text)] == list(text)

    def take(self, text: str) -> bool:
        """Advance if the next characters equal a text, and return whether they do."""
        if not self.at(text):
            return False
        self._at += len(text)
        return True

    def skip(self, number: int) -> None:
        """Advance by a number of characters."""
        self._at += number

    def until(self, mark: str) -> str:
        """Return the characters before a mark, and advance to its end. Raises PatternError if there is no mark."""
        result = ""
        while (letter := self.next_plain()) != mark:
            result += letter
        return result

    def fail(self, message: str) -> NoReturn:
        """Raise PatternError with a message and the position."""
        raise PatternError(f"{self._pattern!r} is not a regular expression: {message} (near index {self._at})")

    def _skip_comments(self) -> None:
        while self.flags.comments and self._at < len(self._letters):
            letter = self._letters[self._at]
            if letter == "#":
                while self._at < len(self._letters) and self._letters[self._at] not in "\n\r\x85\u2028\u2029":
                    self._at += 1
            elif letter in " \t\n\x0b\f\r":
                self._at += 1
            else:
                return


def _without_quotes(pattern: str) -> list[str]:
    r"""Return the characters, with each character between \Q and \E escaped."""
    results: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern.startswith("\\Q", at):
            stop = pattern.find("\\E", at + 2)
            quoted = pattern[at + 2 : len(pattern) if stop < 0 else stop]
            for letter in quoted:
                results += ["\\", letter] if letter.isascii() and not letter.isalnum() else [letter]
            at = len(pattern) if stop < 0 else stop + 2
        elif pattern[at] == "\\" and at + 1 < len(pattern):
            results += pattern[at : at + 2]
            at += 2
        else:
            results.append(pattern[at])
            at += 1
    return results
