"""Search for unclosed quotes and comments."""

from __future__ import annotations

import re

_OPENING = re.compile(r"""--[^\n]*|/\*|'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|['"`]""")
_OF_COMMENTS = re.compile(r"/\*|\*/")
_CLOSING = {"'": "'", '"': '"', "`": "`", "/*": "*/"}


def find_unclosed(text: str) -> tuple[int, str, str] | None:
    """Return position, opening mark and closing mark of the first unclosed quote or comment, or None."""
    at = 0
    while match := _OPENING.search(text, at):
        at, opening = match.end(), match.group()
        if opening == "/*":
            end = _end_of_comment(text, at)
            if end is not None:
                at = end
                continue
        if opening in _CLOSING:
            return match.start(), opening, _CLOSING[opening]
    return None


def _end_of_comment(text: str, at: int) -> int | None:
    """Return the end of a comment that is open at a position, or None. Comments can be nested."""
    depth = 1
    for entry in _OF_COMMENTS.finditer(text, at):
        depth += 1 if entry.group() == "/*" else -1
        if not depth:
            return entry.end()
    return None
