"""Comparison of the expected and actual results of a case."""

from __future__ import annotations

import json
from collections.abc import Iterable

from conformance.cases import Difference
from forebay.testing.cell import Json

Emits = list[list[dict[str, Json]]]


def matches(expected: Json, got: Json) -> bool:
    """Return whether `got` equals the expected value. An object may have fields in addition to the expected fields."""
    if isinstance(expected, dict):
        return isinstance(got, dict) and all(k in got and matches(v, got[k]) for k, v in expected.items())
    if isinstance(expected, list):
        return (
            isinstance(got, list)
            and len(expected) == len(got)
            and all(matches(e, g) for e, g in zip(expected, got, strict=True))
        )
    return bool(expected == got)


def matches_unordered(expected: list[Json], got: list[Json]) -> bool:
    """Return whether both lists contain the same items in any order."""
    rest = list(got)
    for wanted in expected:
        position = next((index for index, other in enumerate(rest) if matches(wanted, other)), None)
        if position is None:
            return False
        del rest[position]
    return not rest


def matches_per_key(expected: list[Json], got: list[Json]) -> bool:
    """Return whether both lists contain the same records, in the same order for each key."""
    keys = {_key(record) for record in (*expected, *got)}
    return all(matches([e for e in expected if _key(e) == key], [g for g in got if _key(g) == key]) for key in keys)


def compare_emits(where: str, expected: Json, got: Emits) -> Iterable[Difference]:
    """Compare the outputs of each input. Among the outputs of an input, only the order within a key is compared."""
    if len(expected) != len(got):
        yield Difference(f"{where} (number of inputs)", len(expected), len(got))
        return
    for index, (wanted, other) in enumerate(zip(expected, got, strict=True)):
        if not matches_per_key(wanted, other):
            yield Difference(f"{where}[{index}]", wanted, other)


def compare_outputs(where: str, expected: list[Json], got: Emits) -> Iterable[Difference]:
    """Compare all outputs in order. Among the outputs of an input, only the order within a key is compared."""
    flat = [record for emitted in got for record in emitted]
    at = 0
    for emitted in got:
        part = expected[at : at + len(emitted)]
        at += len(emitted)
        if not matches_per_key(part, emitted):
            yield Difference(where, expected, flat)
            return
    if at != len(expected):
        yield Difference(where, expected, flat)


def final_table(got: Emits) -> list[Json]:
    """Return the last record of each key (and window), without deleted ones."""
    rows: dict[str, Json] = {}
    for emitted in got:
        for record in emitted:
            rows[identity(record)] = record
    return [record for record in rows.values() if record["value"] is not None]


def identity(record: Json) -> str:
    """Return the identity of a row of a result table, which is its key and window."""
    return json.dumps([record.get("key"), record.get("start"), record.get("end")])


def _key(record: Json) -> str:
    return json.dumps(record.get("key") if isinstance(record, dict) else record)
