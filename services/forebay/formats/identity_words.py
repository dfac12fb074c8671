"""Descriptions of identities of formats, for messages."""

from __future__ import annotations

from forebay.formats.identities import (
    BY_NAME,
    COLUMNS,
    COMPUTED_FROM,
    FIELDS,
    NO_COLUMNS,
    PARTITIONED,
    PLACES,
    WINDOWED,
    Identity,
)


def words_of(identity: Identity) -> str:
    """Return the description of an identity."""
    if not isinstance(identity, list):
        return "an unknown format" if identity is None else str(identity)
    head, *parts = identity
    if head == WINDOWED:
        size = "".join(f" of {size}" for size in parts[1:] if size is not None)
        return f"{head} {words_of(parts[0])}{size}"
    if head == NO_COLUMNS:
        return "no columns" if parts[0] is None else f"no columns, and of {words_of(parts[0])}"
    if head == COLUMNS:
        return "; ".join(parts[0].splitlines())
    if head == COMPUTED_FROM:
        return f"{words_of(parts[1])}, computed from {f'rows {parts[0]}' if parts[0] else 'all rows'}"
    if head == PARTITIONED:
        return f"{words_of(parts[1])}, partitioned {parts[0]}"
    if head == BY_NAME:
        return str(parts[0])
    if head == FIELDS:
        return f"{parts[0]} {', '.join(f'{name} {words_of(kind)}' for name, kind in parts[1].items())}".strip()
    if head == PLACES:
        fields = [parts[1][place] for place in sorted(parts[1], key=int)]
        shown = [name if kind is None else f"{name} {words_of(kind)}" for name, kind in fields]
        return f"{parts[0]} {', '.join(shown)}".strip()
    return " ".join((head, ", ".join(map(words_of, parts))))
