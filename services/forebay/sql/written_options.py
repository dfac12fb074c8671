"""The options of a WITH clause with their places."""

from __future__ import annotations

from collections.abc import Mapping

from forebay.sql.errors import Place

OptionValue = str | int | bool


class Options(dict[str, OptionValue]):
    """The values of a WITH clause by option.

    Args:
        places: Place of each option.
    """

    def __init__(self, places: Mapping[str, Place] | None = None) -> None:
        super().__init__()
        self.places: dict[str, Place] = dict(places or {})

    def place_of(self, name: str, otherwise: Place) -> Place:
        """Return the place of an option, or `otherwise` if the option is not specified."""
        return self.places.get(name, otherwise)
