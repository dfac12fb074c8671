"""A running job's stores, as `forebay queries` answers for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import requests

_ANSWER_SECONDS = 30.0
_PAGE = 10_000
"""The most that a query gives."""


class CannotQuery(RuntimeError):
    """The store can't be read, or not like this; says why."""


class StoreView:
    """A store of a running job, as of its tasks' latest commits.

    Entries are as in docs/queries.md: `key`, `value`, and the times that the kind of store has.

    Args:
        name: the store's.
        address: gives the address of the job's queries.
    """

    def __init__(self, name: str, address: Callable[[], str]) -> None:
        self.name = name
        self._address = address

    def get(self, *key: str, **bounds: object) -> list[dict[str, Any]]:
        """Return the entries of a key: none, one, or one for each window, session or version.

        Args:
            key: a key; of one of several fields, all of them.
            bounds: parameters of /stores/STORE/KEY, such as as_of="2025-01-01T00:00:00Z".

        Raises:
            CannotQuery: there is no such store, or the bounds have no meaning for it.
        """
        found: list[dict[str, Any]] = self._asked("".join(f"/{quote(part, safe='')}" for part in key), bounds)[
            "entries"
        ]
        return found

    def value(self, *key: str) -> Any:
        """Return the value of a key; None without one. Raises CannotQuery: it has several in this kind of store."""
        found = self.get(*key)
        if len(found) > 1:
            raise CannotQuery(
                f"store {self.name} has {len(found)} entries of {key}: ask with get(), which gives them all"
            )
        return found[0]["value"] if found else None

    def entries(self, **bounds: object) -> Iterator[dict[str, Any]]:
        """Yield the entries of all keys in order.

        Args:
            bounds: parameters of /stores/STORE; `from` is Python's own word and is given as `from_`.

        Raises:
            CannotQuery: as `get`; or there are more than a query gives, and no way to ask for the rest.
        """
        given = {"limit": _PAGE, **bounds}
        page = self._asked("", given)
        yield from page["entries"]
        while page["more"] and "limit" not in bounds:
            if "next" not in page:
                raise CannotQuery(f"store {self.name} has more than {_PAGE} entries: ask for fewer, with bounds")
            page = self._asked("", {**given, "after": page["next"]})
            yield from page["entries"]

    def __repr__(self) -> str:
        return f"<store {self.name}>"

    def _asked(self, path: str, bounds: dict[str, object]) -> Any:
        given = {name.removesuffix("_"): str(value) for name, value in bounds.items()}
        url = f"{self._address()}/stores/{quote(self.name, safe='')}{path}"
        try:
            answer = requests.get(url, params=given, timeout=_ANSWER_SECONDS)
            found = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise CannotQuery(f"store {self.name}: the job's queries don't answer: {error}") from error
        if answer.status_code == HTTPStatus.NOT_FOUND and "batches" in found:
            return {"entries": []}
        if not answer.ok:
            raise CannotQuery(f"store {self.name}: {found.get('error', answer.reason)}")
        return found
