"""Suggestions for misspelled names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that was probably meant, or "" if none is similar.

    Upper case, underscores and leading hyphens are ignored. The name is also compared with the parts of a longer name,
    so that `--prot` finds `--broker-port`.
    """
    names = list(known)
    wanted = _plain(name)
    if not wanted:
        return ""
    ranked = sorted(names, key=lambda candidate: -_likeness(wanted, _plain(candidate)))
    if ranked and _likeness(wanted, _plain(ranked[0])) >= _SIMILAR:
        return ranked[0]
    return ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'other'?" for the most similar known name, or "" if none is similar."""
    suggestion = nearest(name, known)
    return f"; did you mean {suggestion!r}?" if suggestion else ""


_SIMILAR = 0.65
_PART = 0.95
"""Factor for a match with a part of a name, which counts slightly less than one with the whole name."""


def _plain(name: str) -> str:
    return name.lower().replace("_", "-").strip("-")


def _likeness(wanted: str, candidate: str) -> float:
    parts = [_ratio(wanted, part) * _PART for part in candidate.split("-")]
    return max([_ratio(wanted, candidate), *parts])


def _ratio(left: str, right: str) -> float:
    return difflib.SequenceMatcher(None, left, right).ratio()
