"""Where the record key that a row belongs to is among the row's bytes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forebay.stores.keys import WIDTH, split_text


class Ending(Enum):
    """What follows a key in a row."""

    NOTHING = "nothing"
    TERMINATOR = "a terminator, then more"


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """The place of the key in rows of one kind.

    Args:
        times: packed times before it.
    """

    times: int
    ending: Ending

    def key(self, row: bytes) -> str:
        """Return the key of a row."""
        at = self.times * WIDTH
        return row[at:].decode() if self.ending is Ending.NOTHING else split_text(row, at)[0]


WHOLE_ROW = KeyPlace(0, Ending.NOTHING)
FIRST_PART = KeyPlace(0, Ending.TERMINATOR)
BEHIND_A_TIME = KeyPlace(1, Ending.TERMINATOR)
BEHIND_TWO_TIMES = KeyPlace(2, Ending.TERMINATOR)
REST_BEHIND_A_TIME = KeyPlace(1, Ending.NOTHING)

OWN = ""
"""The kind of a store's own rows; the others are named as they are opened (`TaskStores.internal`)."""
