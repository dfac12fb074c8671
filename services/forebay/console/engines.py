"""The SQL engines that a console watches by requesting their status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from forebay.console.job_address import NoAnswer, page

_FIELDS = {"state", "queries", "ends"}
"""The fields of an engine's status that the console shows."""
_OTHER = "it answers, but not as an engine does: use the address of `forebay sql --live`"


class Engines:
    """Requests the status of engines concurrently.

    Args:
        urls: URLs of the engines.
        token: token that they require; "" for none.
    """

    def __init__(self, urls: Sequence[str] = (), token: str = "") -> None:
        self._urls = tuple(urls)
        self._token = token

    def read(self) -> list[dict[str, Any]]:
        """Return each engine's URL with its status, or with the reason why it is unknown."""
        if not self._urls:
            return []
        with ThreadPoolExecutor(len(self._urls)) as pool:
            return list(pool.map(self._read, self._urls))

    def _read(self, url: str) -> dict[str, Any]:
        try:
            status, text = page(f"{url}/status", self._token)
            content = json.loads(text)
            if status != 200:
                return {"url": url, "error": str(content["error"])}
            if not content.keys() >= _FIELDS:
                return {"url": url, "error": _OTHER}
            return {"url": url, **content}
        except NoAnswer as error:
            return {"url": url, "error": f"{error}: start it with `forebay sql --live NAME`"}
        except (ValueError, KeyError, TypeError, AttributeError):
            return {"url": url, "error": _OTHER}
