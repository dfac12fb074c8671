"""The `log` of functions, whose texts contain {} or %s for arguments."""

from __future__ import annotations

import logging
from typing import Any

TRACE = 5


class Log:
    """A logger with the methods that KSML's functions call.

    Args:
        name: name of the logger, below `ksml`.
    """

    def __init__(self, name: str) -> None:
        self._log = logging.getLogger(f"ksml.{name}")
        self.name = name

    def getName(self) -> str:
        """Return the logger's name."""
        return self.name

    def error(self, text: Any, *values: Any) -> None:
        """Log an error."""
        self._write(logging.ERROR, text, values)

    def warn(self, text: Any, *values: Any) -> None:
        """Log a warning."""
        self._write(logging.WARNING, text, values)

    warning = warn

    def info(self, text: Any, *values: Any) -> None:
        """Log an information."""
        self._write(logging.INFO, text, values)

    def debug(self, text: Any, *values: Any) -> None:
        """Log a detail."""
        self._write(logging.DEBUG, text, values)

    def trace(self, text: Any, *values: Any) -> None:
        """Log the smallest detail."""
        self._write(TRACE, text, values)

    def isErrorEnabled(self) -> bool:
        """Return whether errors are logged."""
        return self._log.isEnabledFor(logging.ERROR)

    def isWarnEnabled(self) -> bool:
        """Return whether warnings are logged."""
        return self._log.isEnabledFor(logging.WARNING)

    def isInfoEnabled(self) -> bool:
        """Return whether infos are logged."""
        return self._log.isEnabledFor(logging.INFO)

    def isDebugEnabled(self) -> bool:
        """Return whether details are logged."""
        return self._log.isEnabledFor(logging.DEBUG)

    def isTraceEnabled(self) -> bool:
        """Return whether the smallest details are logged."""
        return self._log.isEnabledFor(TRACE)

    def _write(self, level: int, text: Any, values: tuple[Any, ...]) -> None:
        if self._log.isEnabledFor(level):
            self._log.log(level, "%s", fill_placeholders(str(text), values))


def fill_placeholders(text: str, values: tuple[Any, ...]) -> str:
    """Return a text with its {} replaced in order, as SLF4J does. Surplus values are left out."""
    if not values:
        return text
    pieces = text.split("{}")
    shown = [str(value) for value in values]
    filled_text = pieces[0]
    for place, piece in enumerate(pieces[1:]):
        filled_text += (shown[place] if place < len(shown) else "{}") + piece
    return filled_text
