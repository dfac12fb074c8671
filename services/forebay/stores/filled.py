"""Rows that record which stores have the rows of a table, by the name of the table's store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from forebay.stores.internal import FILLED
from forebay.stores.table import Table, prefix_end

State = dict[str, Any]
"""What is recorded of a store: {} if it has all rows, {"sent": the key of the last row, or None} while it is filled,
{"missed": true} if the table has changed while the topology did not have the store. "with" names other tables of a
join, whose changes change the rows, too. "added" is true if the store was added when the table had
rows."""
States = dict[str, State]
"""The states of the stores behind one table, by name."""


def read_filled(table: Table) -> dict[str, States]:
    """Return the records of a task, by the name of the table's store."""
    return {row[len(FILLED) :].decode(): decode_states(value) for row, value in table.scan(FILLED, prefix_end(FILLED))}


def decode_states(value: bytes) -> States:
    """Return the states of a record."""
    states: States = json.loads(value)
    return states


def merge_states(states: Sequence[State]) -> State:
    """Return the state of a store from those that several tasks or tables have recorded.

    It missed changes, or was added to a table with rows, if one of them says so.
    """
    missed = next((state for state in states if "missed" in state), None)
    if missed is not None:
        return missed
    return states[0] | ({"added": True} if any("added" in state for state in states) else {})


def encode_states(states: Mapping[str, State]) -> bytes:
    """Return states as the value of a record."""
    return json.dumps(states, ensure_ascii=False, sort_keys=True).encode()
