"""Reading of server-sent events, like a client."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


def events(lines: Iterable[bytes]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a push query, without comments."""
    name = ""
    for line in lines:
        field, _, text = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = text
        elif field == "data":
            yield name, json.loads(text)
