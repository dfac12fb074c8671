"""Views of a running job's stores, which query the process of `forebay queries`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import requests

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

_ANSWER_SECONDS = 30.0
_PAGE = 10_000
"""Maximum number of entries that a query returns."""
_FIELDS = ("key", "key_text", "key_parts", "start", "end", "timestamp", "valid_to", "value")
"""Possible fields of entries, in the order of columns (see `forebay.queries.entries`)."""


class CannotQuery(RuntimeError):
    """The store can't be read, or does not support this query. The message says why."""


class StoreView:
    """A read-only view of a running job's store, as of the tasks' latest commits.

    Entries have the form of docs/queries.md: `key`, `value`, and the times that the type of store has.

    Args:
        name: Name of the store.
        address: Function that returns the address of the job's query server.
    """

    def __init__(self, name: str, address: Callable[[], str]) -> None:
        self.name = name
        self._address = address

    def get(self, *key: str, **bounds: object) -> list[dict[str, Any]]:
        """Return the entries of a key: none, one, or one for each window, session or version.

        Args:
            *key: The key or, if it has several fields, all its fields.
            **bounds: Parameters of /stores/STORE/KEY, such as as_of="2025-01-01T00:00:00Z".

        Raises:
            CannotQuery: The store does not exist, or does not support these bounds.
        """
        entries: list[dict[str, Any]] = self._query("".join(f"/{quote(part, safe='')}" for part in key), bounds)[
            "entries"
        ]
        return entries

    def value(self, *key: str) -> Any:
        """Return the value of a key, or None. Raise CannotQuery if the key can have several values."""
        entries = self.get(*key)
        if len(entries) > 1:
            raise CannotQuery(
                f"store {self.name} has {len(entries)} entries of {key}: call get(), which returns all of them"
            )
        return entries[0]["value"] if entries else None

    def entries(self, **bounds: object) -> Iterator[dict[str, Any]]:
        """Yield the entries of all keys in order.

        Args:
            **bounds: Parameters of /stores/STORE. Write `from_` for `from`, which is a keyword in Python.

        Raises:
            CannotQuery: As for `get`, or there are more entries than a query returns and the rest can't be requested.
        """
        given = {"limit": _PAGE, **bounds}
        page = self._query("", given)
        yield from page["entries"]
        while page["more"] and "limit" not in bounds:
            if "next" not in page:
                raise CannotQuery(f"store {self.name} has more than {_PAGE} entries: restrict the query with bounds")
            page = self._query("", {**given, "after": page["next"]})
            yield from page["entries"]

    def to_arrow(self, **bounds: object) -> pa.Table:
        """Return the entries of all keys as an Arrow table, with a column per field that any entry has.

        Args:
            **bounds: As for `entries`.

        Raises:
            CannotQuery: As for `entries`, or the values of a column have different types.
        """
        import pyarrow as pa  # noqa: PLC0415 (only needed here, and it takes 0.2 s to load)

        try:
            entries = list(self.entries(**bounds))
            names = {"key", "value"}.union(*entries)
            columns = {name: [entry.get(name) for entry in entries] for name in _FIELDS if name in names}
            return pa.table(columns)
        except pa.ArrowInvalid as error:
            raise CannotQuery(
                f"store {self.name}: its values don't fit one type of Arrow ({error}): use entries()"
            ) from error

    def to_pandas(self, **bounds: object) -> pd.DataFrame:
        """Return the entries of all keys as a pandas DataFrame.

        Args:
            **bounds: As for `entries`.

        Raises:
            CannotQuery: As for `to_arrow`, or pandas is not installed.
        """
        if find_spec("pandas") is None:
            raise CannotQuery("to_pandas() needs pandas: pip install 'forebay[pandas]', or use to_arrow()")
        frame: pd.DataFrame = self.to_arrow(**bounds).to_pandas()
        return frame

    def __repr__(self) -> str:
        return f"<store {self.name}>"

    def _query(self, path: str, bounds: dict[str, object]) -> Any:
        given = {name.removesuffix("_"): str(value) for name, value in bounds.items()}
        url = f"{self._address()}/stores/{quote(self.name, safe='')}{path}"
        try:
            answer = requests.get(url, params=given, timeout=_ANSWER_SECONDS)
            document = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise CannotQuery(f"store {self.name}: the job's queries don't answer: {error}") from error
        if answer.status_code == HTTPStatus.NOT_FOUND and "batches" in document:
            return {"entries": []}
        if not answer.ok:
            raise CannotQuery(f"store {self.name}: {document.get('error', answer.reason)}")
        return document
