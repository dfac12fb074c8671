"""What is logged of a function of a user that fails: each line of it once in a process."""

from __future__ import annotations

import logging
import traceback

_LOG = logging.getLogger("forebay.sql")


class Failures:
    """The failures of a function.

    Args:
        name: Its name in SQL.
        place: Where it is defined.
    """

    def __init__(self, name: str, place: str) -> None:
        self._name = name
        self._place = place
        self._logged: set[int] = set()

    def log(self, error: Exception, effect: str) -> None:
        """Log an error, unless one of the same line was logged.

        Args:
            effect: What becomes of the record.
        """
        frames = traceback.extract_tb(error.__traceback__)
        line = frames[-1].lineno or 0 if frames else 0
        if line not in self._logged:
            self._logged.add(line)
            _LOG.warning("%s; %s. This is logged once for each line", self.text(error), effect)

    def text(self, error: Exception) -> str:
        """Return which function failed, where, and how."""
        frames = traceback.extract_tb(error.__traceback__)
        last = next((frame for frame in reversed(frames) if "/forebay/sql/" not in frame.filename), None)
        where = self._place if last is None else f"{last.filename}:{last.lineno}"
        return f"the SQL function {self._name} ({where}) failed with {type(error).__name__}: {error!s:.500}"
