"""What a WITH clause says, as it is written."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.sql.errors import Place

OptionValue = str | int | bool


class Options(dict[str, OptionValue]):
    """What a WITH clause says, by option.

    Args:
        places: where each option stands.
    """

    def __init__(self, places: Mapping[str, Place] | None = None) -> None:
        super().__init__()
        self.places: dict[str, Place] = dict(places or {})

    def place_of(self, name: str, otherwise: Place) -> Place:
        """Return where an option stands; another place if it was not written."""
        return self.places.get(name, otherwise)
