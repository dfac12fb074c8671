"""Nodes of a foreign-key join, in which left rows contain the key of the right row to which they refer.

A left row sends a subscription to the task of its foreign key, which has the right table. Each response goes to the
task of the left row's key, which has the joined table. A response contains the version of the left row that it is for,
so that a response for a foreign key that the row no longer has is dropped.

A left join joins a row without a foreign key with None (KIP-962). The subscription of such a row has no key, is
answered immediately and is not stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from forebay.builder.nodes import Bound, Flow, Kind, Made, Node
from forebay.codec import Codec, DecodeError, canonical_of, is_frozen
from forebay.formats import LONG, Format
from forebay.formats.identities import key_of as identity_of_key
from forebay.operators.results import Join, Tombstones
from forebay.operators.table import Change, change_of_row
from forebay.processor.api import Context
from forebay.stores.keys import join_key, split_key
from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.timestamped import TimestampedKeyValueStore

_HEAD = struct.Struct(">qHB")


class Subscription(NamedTuple):
    """A left row, sent to the task of its foreign key, or the response to it.

    Args:
        row: Key of the left row, as row text.
        version: Number of changes of the left row so far.
        value: Value of the left row; in a response, the joined value. None: the row was deleted or has another key now.
        answers: Whether a left row that was deleted or has another key needs a response.
    """

    row: str
    version: int
    value: Any
    answers: bool


class _SubscriptionCodec:
    canonical: Callable[[Subscription], Subscription] | None = None

    def __init__(self, values: Codec[Any]) -> None:
        self._values = values
        self.is_frozen = is_frozen(values)
        form = canonical_of(values)
        if form is not None:
            self.canonical = lambda record: (
                record if record.value is None else record._replace(value=form(record.value))
            )

    def encode(self, record: Subscription) -> bytes:
        row = record.row.encode()
        flags = record.answers | (record.value is not None) << 1
        value = b"" if record.value is None else self._values.encode(record.value)
        return _HEAD.pack(record.version, len(row), flags) + row + value

    def decode(self, data: bytes) -> Subscription:
        if len(data) < _HEAD.size:
            raise DecodeError(f"{len(data)} bytes are not a subscription")
        version, length, flags = _HEAD.unpack_from(data)
        end = _HEAD.size + length
        value = self._values.decode(data[end:]) if flags & 2 else None
        return Subscription(data[_HEAD.size : end].decode(), version, value, bool(flags & 1))


def subscriptions(values: Format[Any]) -> Format[Any]:
    """Return the format of subscriptions that contain values of a format."""
    return Format(
        f"subscriptions of {values}",
        Subscription,
        lambda contracts: _SubscriptionCodec(values.codec(contracts)),
        identify=lambda: ["subscriptions of", values.identity],
    )


def subscribing(
    left: Node, key_of: Callable[[str, Any], str | None], right_key: Format[Any], kind: Join, store: str
) -> Node:
    """Return the node that sends each left row to the task of its foreign key."""
    versions: KeyValueStore[int] = KeyValueStore(f"{store}-versions", LONG)
    versions.key_identity = identity_of_key(left.key.identity)
    is_left = kind is Join.LEFT

    def make(bound: Bound, out: Flow) -> Made:
        own = bound.store(versions)

        def subscribed_key(row: Any, value: Any) -> tuple[str | None]:
            return (key_of(row, value),)

        def flow(row: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            former = None if change.old is None else bound.former(subscribed_key, row, change.old)
            was_sent, is_sent = former is not None, change.new is not None
            old = None if former is None else former[0]
            new = key_of(row, change.new) if is_sent else None
            if not is_left:
                was_sent, is_sent = old is not None, new is not None
            if not (was_sent or is_sent):
                return
            # The counter survives the deletion of its row. If it restarted at 1, `answer_node` would drop every
            # response until the counter passed the last version it saw.
            version = (own.get(row) or 0) + 1
            own.put(row, version)
            # A row without a foreign key has no stored subscription to cancel. Only its deletion needs a response.
            if was_sent and (not is_sent or (old is not None and old != new)):
                out(old, Subscription(row, version, None, not is_sent), timestamp, ctx)
            if is_sent:
                out(new, Subscription(row, version, change.new, True), timestamp, ctx)

        return Made((flow,))

    name = f"subscribe to {store}"
    return Node(
        Kind.STEP, name, right_key, subscriptions(left.value), (left,), stores=(versions,), make=make, filled=[store]
    )


def answering(
    subscribed: Node,
    right: Node,
    joiner: Callable[[Any, Any], Any],
    into: Format[Any],
    kind: Join,
    store: str,
    left_key: Format[Any],
) -> Node:
    """Return the node that sends a response to each subscription of a right row."""
    declared: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(f"{store}-subscriptions", subscribed.value)
    declared.key_identity = identity_of_key(subscribed.key.identity, left_key.identity)

    def make(bound: Bound, out: Flow) -> Made:
        own, rows = bound.store(declared), bound.view(right)
        # A left join keeps rows without a match, so its response always has a value.
        is_left = kind is Join.LEFT

        def answer(subscription: Subscription, other: Any, timestamp: int, ctx: Context[Any]) -> None:
            value = joiner(subscription.value, other) if other is not None or is_left else None
            out(subscription.row, Subscription(subscription.row, subscription.version, value, True), timestamp, ctx)

        def on_subscription(key: Any, subscription: Subscription, timestamp: int, ctx: Context[Any]) -> None:
            if key is not None:
                # A row that was deleted or has another foreign key must not be updated by later changes of this right
                # row.
                own.put(
                    join_key(key, subscription.row), None if subscription.value is None else subscription, timestamp
                )
            other = None if key is None else rows.get(key)
            # As in Kafka Streams, the result has the later timestamp of both sides, but that of the delete in a left
            # join.
            latest = max(timestamp, -1 if other is None else other.timestamp)
            if subscription.value is not None:
                answer(subscription, None if other is None else other.value, latest, ctx)
            elif subscription.answers:
                at = timestamp if is_left else latest
                out(subscription.row, Subscription(subscription.row, subscription.version, None, True), at, ctx)

        def on_right(key: Any, change: Change[Any], timestamp: int, ctx: Context[Any]) -> None:
            # Subscriptions are stored as (foreign key, row), so that all rows of a foreign key are neighbors.
            for _, subscription in list(own.prefix_scan(join_key(key))):
                answer(subscription.value, change.new, max(timestamp, subscription.timestamp), ctx)

        return Made((on_subscription, on_right))

    node = Node(
        Kind.STEP,
        f"answer subscriptions of {store} ({kind.value})",
        left_key,
        subscriptions(into),
        (subscribed, right),
        stores=(declared,),
        make=make,
        filled=[declared.name],
        looks_up_rows=True,
    )
    return replace(node, asks_old=False)


def answer_node(answers: Node, into: Format[Any], store: str, tombstones: Tombstones = Tombstones.OF_ROWS) -> Node:
    """Return the node that stores the joined table."""
    always = tombstones is Tombstones.ALWAYS
    rows: TimestampedKeyValueStore[Any] = TimestampedKeyValueStore(store, into)
    versions: KeyValueStore[int] = KeyValueStore(f"{store}-answered", LONG)

    def make(bound: Bound, out: Flow) -> Made:
        own, seen = bound.store(rows), bound.store(versions)

        def flow(key: Any, subscription: Subscription, timestamp: int, ctx: Context[Any]) -> None:
            # An equal version is accepted, because each change of the right row sends another response to the same
            # subscription. Kafka Streams compares a hash of the left value instead. If a row changes back, this makes
            # an outdated response valid again.
            if subscription.version < (seen.get(key) or 0):
                return
            # Also for a deleted row, because a response to an earlier version may still arrive from another task.
            seen.put(key, subscription.version)
            old = own.get(key)
            own.put(key, subscription.value, timestamp)
            if old is not None or subscription.value is not None or (always and subscription.version > 1):
                out(key, change_of_row(key, subscription.value, old, timestamp), timestamp, ctx)

        return Made((flow,))

    node = Node(
        Kind.STEP,
        f"join by foreign key {store}",
        answers.key,
        into,
        (answers,),
        stores=(rows, versions),
        make=make,
        view=lambda bound: bound.store(rows),
        gives_rows=True,
    )
    return replace(node, asks_old=False)


def owner_of_subscription(key: str) -> str:
    """Return the foreign key (as row text) of a subscription's key in its store."""
    return split_key(key)[0]
