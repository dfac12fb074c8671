"""A type for passwords and keys."""

from __future__ import annotations

from dataclasses import dataclass, field

_SHOWN = "**********"


@dataclass(frozen=True, slots=True)
class Secret:
    """A password or key, which never appears in a repr, log line or error."""

    _text: str = field(repr=False)

    def reveal(self) -> str:
        """Return the text, for clients that log in with it."""
        return self._text

    def __str__(self) -> str:
        return _SHOWN

    def __repr__(self) -> str:
        return f"Secret('{_SHOWN}')"


def without_line_end(secret: Secret) -> Secret:
    """Return a secret without line breaks at its end, which editors and `echo` add to a file."""
    return Secret(secret.reveal().rstrip("\r\n"))
