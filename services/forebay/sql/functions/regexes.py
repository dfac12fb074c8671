"""Functions with Java's regular expressions."""

from __future__ import annotations

from forebay.sql.functions.registry import function
from forebay.sql.regexes.matching import (
    Pattern,
    all_matches,
    compile_pattern,
    first_match,
    parse_replacement,
    replace_all,
    split,
)
from forebay.sql.types import STRING, ArrayType


def extract(pattern: str, text: str, group: int = 0) -> str | None:
    """Return the first match of a pattern or of its group, or None if there is no match. Raises LimitReached."""
    compiled = compile_pattern(pattern)
    if group > compiled.groups:
        return None
    match = first_match(compiled, text)
    result: str | None = None if match is None else match[_existing(group)]
    return result


def extract_all(pattern: str, text: str, group: int = 0) -> tuple[str | None, ...] | None:
    """Return all matches of a pattern or of its group, or None if the group does not exist. Raises LimitReached."""
    compiled = compile_pattern(pattern)
    if group > compiled.groups:
        return None
    return tuple(match[_existing(group)] for match in all_matches(compiled, text))


def _existing(group: int) -> int:
    if group < 0:
        raise IndexError(f"there is no group {group}")
    return group


def replace(text: str, pattern: str, replacement: str) -> str:
    """Return the text with all matches replaced. Raises LimitReached."""
    return replace_all(compile_pattern(pattern), text, replacement)


def split_to_array(text: str, pattern: str) -> tuple[str, ...]:
    """Return the parts between the matches. Raises LimitReached."""
    return split(compile_pattern(pattern), text)


def _read(pattern: object) -> Pattern:
    """Return a compiled literal pattern. Raises PatternError, or ModuleNotFoundError without the `regex` library.

    If the pattern is not a literal, return the empty pattern, so that a missing library is noticed before the first
    record.
    """
    return compile_pattern(pattern if isinstance(pattern, str) else "")


def _check_first(pattern: object, *_rest: object) -> None:
    _read(pattern)


def _check_second(_text: object, pattern: object, *_rest: object) -> None:
    _read(pattern)


def _check_all(_text: object, pattern: object, replacement: object) -> None:
    compiled = _read(pattern)
    if isinstance(pattern, str) and isinstance(replacement, str):
        parse_replacement(replacement, compiled)


function("REGEXP_EXTRACT", "s s i?", STRING, extract, check=_check_first, is_limited=True)
function("REGEXP_EXTRACT_ALL", "s s i?", ArrayType(STRING), extract_all, check=_check_first, is_limited=True)
function("REGEXP_REPLACE", "s s s", STRING, replace, check=_check_all, is_limited=True)
function("REGEXP_SPLIT_TO_ARRAY", "s s", ArrayType(STRING), split_to_array, check=_check_second, is_limited=True)
