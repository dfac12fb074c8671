"""Push queries as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from forebay.queries.key_texts import shown_entry
from forebay.queries.stores import JobStores
from forebay.queries.subscription import Change, Subscription
from forebay.stores.binding import Store

SILENCE = b": nothing new\n\n"
FOLLOWING = b": following\n\n"


def push_events(
    stores: JobStores, subscription: Subscription, snapshot: bool, silent_seconds: float
) -> Iterator[bytes]:
    """Yield the events of a subscription until it ends.

    Args:
        snapshot: Whether to yield the existing rows first.
        silent_seconds: Time without a change after which a comment is sent, in seconds.
    """
    store = stores.known(subscription.store)
    try:
        count = 0
        for change in stores.subscribe(subscription, snapshot):
            count += 1
            yield event("row", shown_change(store, change))
        if snapshot and subscription.end is not None:  # rows may be missing, so no changes follow
            yield event("end", {"reason": subscription.end.value})
            return
        yield event("now", {"rows": count}) if snapshot else FOLLOWING
        for changes in subscription.changes(silent_seconds):
            yield b"".join(event("change", shown_change(store, change)) for change in changes) or SILENCE
        assert subscription.end is not None
        yield event("end", {"reason": subscription.end.value})
    finally:
        stores.unsubscribe(subscription)


def shown_change(store: Store[Any], change: Change) -> dict[str, Any]:
    """Return a change as a JSON object."""
    return {"task": change.task, "batch": change.batch, **shown_entry(store, change.entry)}


def event(name: str, content: dict[str, Any]) -> bytes:
    """Return an event's bytes."""
    return written(name, json.dumps(content, ensure_ascii=False).encode())


def written(name: str, data: bytes) -> bytes:
    """Return the bytes of an event with encoded data."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def events(pieces: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield name and data of the events of a push query; "" and b"" for a comment."""
    name = ""
    for piece in pieces:
        for line in piece.split(b"\n"):
            field, _, text = line.partition(b": ")
            if field == b"event":
                name = text.decode()
            elif field == b"data":
                yield name, text
            elif not field and text:
                yield "", b""
