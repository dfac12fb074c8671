"""MASK and similar functions, which replace characters of a text."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from forebay.sql.functions.registry import function
from forebay.sql.types import STRING

_DEFAULTS = ("X", "x", "n", "-")
_KINDS = {"Lu": 0, "Ll": 1, "Nd": 2}
"""Categories of characters, each of which has its own mask. The last mask is for all other characters."""


def mask(text: str | None, *masks: str | None) -> str | None:
    """Return the text with characters replaced by masks. Raises ValueError if a mask is not a single character.

    Args:
        text: The text.
        masks: Masks for upper-case letters, lower-case letters, digits, and all others. With null, characters are not
            replaced.
    """
    if text is None:
        return None
    how = _check(masks)
    return "".join(how[_KINDS.get(unicodedata.category(letter), 3)] or letter for letter in text)


def _check(masks: tuple[str | None, ...]) -> tuple[str | None, ...]:
    if any(mask is not None and len(mask) != 1 for mask in masks):
        raise ValueError(f"masks are single letters, these are {masks}")
    return masks or _DEFAULTS


def _partly(how: str) -> Callable[..., str | None]:
    def mask_part(text: str | None, count: int | None, *masks: str | None) -> str | None:
        if text is None or count is None:
            return None
        if count < 0:
            raise ValueError(f"the number of letters is {count}")
        _check(masks)
        number = min(count, len(text))
        at = number if how.endswith("left") else len(text) - number
        head, tail = text[:at], text[at:]
        if how in ("left", "keep_right"):
            return f"{mask(head, *masks)}{tail}"
        return f"{head}{mask(tail, *masks)}"

    return mask_part


function("MASK", "s", STRING, mask)
function("MASK", "s s s s s", STRING, mask, takes_null=True)
for _how in ("left", "right", "keep_left", "keep_right"):
    function(f"MASK_{_how.upper()}", "s i", STRING, _partly(_how))
    function(f"MASK_{_how.upper()}", "s i s s s s", STRING, _partly(_how), takes_null=True)
