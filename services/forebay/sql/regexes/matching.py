"""Matching, replacement and splitting with Java's regular expressions, within a time limit."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from forebay.sql.limits import create_letters, out_of_time, remaining_seconds
from forebay.sql.regexes.source import PatternError
from forebay.sql.regexes.translate import translate

MOST_LETTERS = 2_000
"""Largest number of characters of a pattern."""
_SHORT_SECONDS = 0.02
_REFERENCE = re.compile(r"\\(.?)|\$(?:\{([^}]*)\}|(\d*))", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern.

    Args:
        matcher: Compiled pattern of the `regex` library.
        names: Numbers of the named groups.
        matches_nothing: Whether it matches the empty text.
    """

    matcher: Any
    groups: int
    names: dict[str, int]
    matches_nothing: bool


@lru_cache(256)
def compile_pattern(pattern: str) -> Pattern:
    """Return a compiled Java pattern. Raises PatternError."""
    import regex  # noqa: PLC0415 (most programs need no regular expressions)

    if len(pattern) > MOST_LETTERS:
        raise PatternError(f"a regular expression has {len(pattern)} characters, at most {MOST_LETTERS} are allowed")
    try:
        result = translate(pattern)
        matcher = regex.compile(result.pattern, cache_pattern=False)
    except (regex.error, RecursionError, OverflowError) as error:
        raise PatternError(f"{pattern!r} can't be used as a regular expression: {error}") from error
    return Pattern(matcher, result.groups, result.names, matcher.fullmatch("") is not None)


def first_match(pattern: Pattern, text: str) -> Any:
    """Return the first match, or None if there is no match. Raises LimitReached."""
    return _in_time(lambda **how: pattern.matcher.search(text, **how))


def all_matches(pattern: Pattern, text: str) -> Sequence[Any]:
    """Return all matches in order, as repeated calls of Java's `Matcher.find` do. Raises LimitReached."""
    matches: list[Any] = _in_time(lambda **how: list(pattern.matcher.finditer(text, **how)))
    # After an empty match, Java continues at the next character. `finditer` may find a longer match at its position.
    if any(one.end() == one.start() == other.start() for one, other in pairwise(matches)):
        matches = _in_time(lambda **how: list(_matches_as_java(pattern.matcher, text, **how)))
    return matches


def _matches_as_java(matcher: Any, text: str, **how: Any) -> Iterator[Any]:
    start: int | None = 0
    while start is not None:
        # The time limit in `how` applies to each search, so check the total here.
        remaining_seconds()
        # An overlapped search continues one character after the start of each match.
        matches, start = matcher.finditer(text, start, overlapped=True, **how), None
        for match in matches:
            yield match
            if match.end() > match.start():
                start = match.end()
                break


def _in_time(run: Callable[..., Any]) -> Any:
    """Return the result of a search. A long search releases the GIL."""
    left = remaining_seconds()
    try:
        # Most searches are short, and releasing the GIL would take longer than the search. A long search is aborted and
        # repeated without the GIL, so that it does not block the other threads.
        return run(timeout=min(_SHORT_SECONDS, left))
    except TimeoutError:
        pass
    try:
        return run(timeout=left, concurrent=True)
    except TimeoutError:
        raise out_of_time() from None


def replace_all(pattern: Pattern, text: str, replacement: str) -> str:
    """Return the text with all matches replaced, as `Matcher.replaceAll`. Raises PatternError, LimitReached."""
    matches = all_matches(pattern, text)
    if not matches:  # Java then does not look at the replacement
        return text
    parts = parse_replacement(replacement, pattern)
    results: list[str] = []
    at = 0
    for match in matches:
        results.append(text[at : match.start()])
        results += (part if isinstance(part, str) else match[part] or "" for part in parts)
        at = match.end()
    results.append(text[at:])
    create_letters(sum(map(len, results)), "REGEXP_REPLACE")
    return "".join(results)


def parse_replacement(replacement: str, pattern: Pattern) -> tuple[str | int, ...]:
    r"""Return the texts and numbers of groups of a replacement with $1, ${name} and \$.

    Raises:
        PatternError: The replacement names a group that the pattern does not have.
    """
    parts: list[str | int] = []
    at = 0
    for entry in _REFERENCE.finditer(replacement):
        parts.append(replacement[at : entry.start()])
        at = entry.end()
        escaped, name, digits = entry.groups()
        if escaped is not None:
            if not escaped:
                raise PatternError(f"the replacement {replacement!r} ends with a backslash: write \\\\")
            parts.append(escaped)
        elif name is not None:
            if name not in pattern.names:
                raise PatternError(f"the replacement {replacement!r} names the group {name!r}, which does not exist")
            parts.append(pattern.names[name])
        else:
            number, rest = _group_number(digits, pattern, replacement)
            parts += [number, rest]
    parts.append(replacement[at:])
    return tuple(part for part in parts if part != "")


def _group_number(digits: str, pattern: Pattern, replacement: str) -> tuple[int, str]:
    """Return the group that the longest possible prefix of digits names, and the remaining digits."""
    if not digits:
        raise PatternError(f"the replacement {replacement!r} has a $ without a group: write $1, or \\$ for the letter")
    taken = 1
    if int(digits[0]) > pattern.groups:
        raise PatternError(f"the replacement {replacement!r} names the group {digits[0]}, there are {pattern.groups}")
    while taken < len(digits) and int(digits[: taken + 1]) <= pattern.groups:
        taken += 1
    return int(digits[:taken]), digits[taken:]


def split(pattern: Pattern, text: str) -> tuple[str, ...]:
    """Return the parts between the matches. Raises LimitReached.

    A pattern that matches the empty text splits like `Pattern.split`, which removes empty parts at the end. Other
    patterns split like Guava's `Splitter`, which ends at an empty match at the end.
    """
    parts: list[str] = []
    at = 0
    for match in all_matches(pattern, text):
        # Since Java 8, an empty match at the beginning does not create an empty first part.
        if not match.start() == match.end() == at or (at and pattern.matches_nothing):
            parts.append(text[at : match.start()])
            at = match.end()
        if match.start() == len(text) and not pattern.matches_nothing:
            return tuple(parts)
    parts.append(text[at:])
    if pattern.matches_nothing and at:
        while parts and not parts[-1]:
            parts.pop()
    return tuple(parts)
