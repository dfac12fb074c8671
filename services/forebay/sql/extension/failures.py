"""Logging of failures in user-defined functions, once per process for each line of code that fails."""

from __future__ import annotations

import logging
import traceback

_LOG = logging.getLogger("forebay.sql")


class Failures:
    """The failures of a function.

    Args:
        name: Name of the function in SQL.
        place: File and line of its definition.
    """

    def __init__(self, name: str, place: str) -> None:
        self._name = name
        self._place = place
        self._logged: set[int] = set()

    def log(self, error: Exception, effect: str) -> None:
        """Log an error, unless an error of the same line was logged before.

        Args:
            error: The error.
            effect: Effect on the record, for the message.
        """
        frames = traceback.extract_tb(error.__traceback__)
        line = frames[-1].lineno or 0 if frames else 0
        if line not in self._logged:
            self._logged.add(line)
            _LOG.warning("%s; %s. This is logged once for each line", self.text(error), effect)

    def text(self, error: Exception) -> str:
        """Return a text with the function's name, the place of the failure and the error."""
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if "/forebay/sql/" not in frame.filename), None)
        where = self._place if last is None else f"{last.filename}:{last.lineno}"
        return f"the SQL function {self._name} ({where}) failed with {type(error).__name__}: {error!s:.500}"
