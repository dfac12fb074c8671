"""Lists and counts that never hold more than `limit` entries."""

from __future__ import annotations

from forebay.records import FrozenMap

TOP = 5

# `FrozenMap` refuses changes. A new copy is filled through the methods of `dict` before it is given out.
_set = dict.__setitem__
_delete = dict.__delitem__


def append_bounded(items: tuple[str, ...], item: str, limit: int) -> tuple[str, ...]:
    """Return `items` with `item` (not among them) at the end; the oldest leave when there are more than `limit`."""
    return (*items, item)[-limit:]


def count_bounded(counts: FrozenMap[str, int], name: str, limit: int) -> FrozenMap[str, int]:
    """Return `counts` with one more for `name`.

    A new name that makes more than `limit` drives out the lowest ranked of the others: the smallest count,
    among equals the last in order of name. A name that comes back later starts again at 1.
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
    """Return the (up to five) names with the largest counts, largest first, equal counts in order of name.

    Args:
        top: what this gave before `name` was counted.
        counts: the counts with `name` counted.
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


# The names of these functions in 0.2, which work for one more release.
appended, counted, ranked = append_bounded, count_bounded, rank_top
