"""Immutable lists and counters with a limited number of entries."""

from __future__ import annotations

from forebay.records import FrozenMap

TOP = 5

# `FrozenMap` refuses changes. A new copy is filled through the methods of `dict` before it is returned.
_set = dict.__setitem__
_delete = dict.__delitem__


def append_bounded(items: tuple[str, ...], item: str, limit: int) -> tuple[str, ...]:
    """Return the last `limit` of `items` and `item`, which must not be one of them."""
    return (*items, item)[-limit:]


def count_bounded(counts: FrozenMap[str, int], name: str, limit: int) -> FrozenMap[str, int]:
    """Return `counts` with the count of `name` increased by one.

    If a new name exceeds `limit`, the lowest ranked other name is removed: the one with the smallest count and, among
    equal counts, the last in alphabetical order. A removed name that is counted again starts at 1.
    """
    updated = FrozenMap(counts)
    if name in counts:
        _set(updated, name, counts[name] + 1)
        return updated
    while len(updated) >= limit:
        _delete(updated, max(updated, key=lambda other: (-updated[other], other)))
    _set(updated, name, 1)
    return updated


def rank_top(top: tuple[str, ...], counts: FrozenMap[str, int], name: str) -> tuple[str, ...]:
    """Return up to five names with the largest counts, in descending order, equal counts in alphabetical order.

    Args:
        top: The result of the previous call, before `name` was counted.
        counts: The counts, including that of `name`.
    """
    count = counts[name]
    if name in top:
        place = top.index(name)
        if place == 0 or _outranks(top[place - 1], counts, name, count):
            return top
    elif len(top) == TOP and top[-1] in counts and _outranks(top[-1], counts, name, count):
        return top
    candidates = {name, *(other for other in top if other in counts)}
    return tuple(sorted(candidates, key=lambda other: (-counts[other], other))[:TOP])


def _outranks(other: str, counts: FrozenMap[str, int], name: str, count: int) -> bool:
    lead = counts[other] - count
    return lead > 0 or (lead == 0 and other < name)


# The names that these functions had in 0.2. They remain for one more release.
appended, counted, ranked = append_bounded, count_bounded, rank_top
