"""The position of the record key in a row's key."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from forebay.stores.keys import WIDTH, split_text


class Ending(Enum):
    """The bytes that follow the record key in a row's key."""

    NOTHING = "nothing"
    TERMINATOR = "a terminator, then more"


@dataclass(frozen=True, slots=True)
class KeyPlace:
    """The position of the record key in rows of one kind.

    Args:
        times: Number of packed times before it.
        ending: What follows it.
    """

    times: int
    ending: Ending

    def key(self, row: bytes) -> str:
        """Return the record key of a row."""
        at = self.times * WIDTH
        return row[at:].decode() if self.ending is Ending.NOTHING else split_text(row, at)[0]


WHOLE_ROW = KeyPlace(0, Ending.NOTHING)
FIRST_PART = KeyPlace(0, Ending.TERMINATOR)
BEHIND_A_TIME = KeyPlace(1, Ending.TERMINATOR)
BEHIND_TWO_TIMES = KeyPlace(2, Ending.TERMINATOR)
REST_BEHIND_A_TIME = KeyPlace(1, Ending.NOTHING)

OWN = ""
"""The kind of a store's own rows. Other kinds have the names with which they are opened (`TaskStores.internal`)."""
