"""The expected results of the tutorial's jobs, computed by their functions over dicts, without library code."""

from __future__ import annotations

import copy
import json
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import yaml

DEFINITIONS = Path(__file__).parent / "definitions"
NAMES = ("user-sessions", "windowed-metrics", "session-analytics", "device-alerts", "order-stores")

Record = tuple[str, Any]
"""Key and value."""


class PlainStore:
    """A store as a dict of JSON texts. Entries of window stores are identified by key and start."""

    def __init__(self) -> None:
        self._rows: dict[Any, str] = {}

    def get(self, *key: Any) -> Any:
        text = self._rows.get(key)
        return None if text is None else json.loads(text)

    fetch = get

    def put(self, key: Any, value: Any, *start: Any) -> None:
        self._rows[(key, *start)] = json.dumps(value)


class Bodies:
    """The functions of a definition, compiled from their text."""

    def __init__(self, name: str) -> None:
        self._document = yaml.safe_load((DEFINITIONS / f"{name}.yaml").read_text())
        self._globals: dict[str, Any] = {store: PlainStore() for store in self._document.get("stores", {})}

    def function(self, name: str) -> Callable[[str, Any], Any]:
        held = self._document["functions"][name]
        exec(held.get("globalCode", ""), self._globals)
        exec(f"def {name}(key, value):\n{textwrap.indent(held['code'], '  ')}", self._globals)
        call = self._globals[name]
        return lambda key, value: copy.deepcopy(call(key, copy.deepcopy(value)))


def expected_records(name: str, records: Iterable[Record]) -> list[Record]:
    """Return the records that a definition sends, in order."""
    bodies = Bodies(name)
    if name == "order-stores":
        return _orders(bodies, records)
    call = bodies.function(
        {
            "user-sessions": "follow_user",
            "windowed-metrics": "add_to_window",
            "session-analytics": "follow_clicks",
            "device-alerts": "follow_device",
        }[name]
    )
    results: list[Record] = []
    for key, value in records:
        result = call(key, value)
        results += [(key, item) for item in (result if name == "device-alerts" else [result]) if item is not None]
    return results


def _orders(bodies: Bodies, records: Iterable[Record]) -> list[Record]:
    follow, move, add = (bodies.function(name) for name in ("follow_order", "move_stock", "add_to_customer"))
    orders: list[Record] = []
    for key, value in records:
        try:
            order = follow(key, value)
        except ValueError:
            continue
        stocked = move(order["product_id"], order)
        orders.append((stocked["customer_id"], add(stocked["customer_id"], stocked)))
    return orders
