"""Where a quote or a comment opens that nothing closes."""

from __future__ import annotations

import re

_OPENING = re.compile(r"""--[^\n]*|/\*|'(?:[^']|'')*+'|"(?:[^"]|"")*+"|`(?:[^`]|``)*+`|['"`]""")
_OF_COMMENTS = re.compile(r"/\*|\*/")
_CLOSING = {"'": "'", '"': '"', "`": "`", "/*": "*/"}


def find_unclosed(text: str) -> tuple[int, str, str] | None:
    """Return where the first one opens, what opens there, and what would close it; None: all are closed."""
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
    """Return where a comment ends that is open at a place; comments in it have ends of their own."""
    depth = 1
    for entry in _OF_COMMENTS.finditer(text, at):
        depth += 1 if entry.group() == "/*" else -1
        if not depth:
            return entry.end()
    return None
