"""The accepted changes, one per request, each of which is a record of the statements' topic."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class UnreadableChange(Exception):
    """A record of the statements' topic was not written by an engine, or can't be decoded."""


@dataclass(frozen=True, slots=True)
class Change:
    """Statements that were accepted together.

    Args:
        sql: the statements, enclosed in the settings of their session.
        is_paused: whether the job is paused after the change.
        stores: declarations of the job's stores after the change, by name.
        schemas: the schemas that the statements read from the registry, as text of the file next to them.
    """

    sql: str
    is_paused: bool = False
    stores: Mapping[str, str] = field(default_factory=dict)
    schemas: str = ""

    def encode(self) -> bytes:
        """Return the change encoded as the value of a record."""
        content = {"sql": self.sql, "paused": self.is_paused, "stores": dict(self.stores), "schemas": self.schemas}
        return json.dumps(content, ensure_ascii=False).encode()

    @classmethod
    def decode(cls, value: bytes, offset: int) -> Change:
        """Return the change of a record's value. Raises UnreadableChange."""
        try:
            content = json.loads(value)
            return cls(str(content["sql"]), bool(content["paused"]), dict(content["stores"]), str(content["schemas"]))
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableChange(
                f"the record at offset {offset} of the statements' topic was not written by an "
                f"engine: {error!r}. Only engines may write to this topic"
            ) from error


@dataclass(frozen=True, slots=True)
class History:
    """All changes, oldest first."""

    changes: Sequence[Change] = ()

    @property
    def text(self) -> str:
        """The statements of all changes, as a file of SQL."""
        return "\n".join(change.sql for change in self.changes if change.sql) + "\n"

    @property
    def is_paused(self) -> bool:
        """Whether the job is paused."""
        return bool(self.changes) and self.changes[-1].is_paused

    @property
    def schemas(self) -> str:
        """The schemas that the statements read from the registry."""
        return self.changes[-1].schemas if self.changes else ""

    @property
    def stores(self) -> dict[str, str]:
        """The last declaration of each store, including stores of dropped statements."""
        return {name: declared for change in self.changes for name, declared in change.stores.items()}

    def extend(self, change: Change) -> History:
        """Return the history with one more change."""
        return History((*self.changes, change))
