"""State stores: what logic reads and writes, and the tables behind it."""

from forebay.stores.keyvalue import KeyValueStore
from forebay.stores.listvalue import ListValueStore
from forebay.stores.lru import LruStore
from forebay.stores.materialized import Materialized
from forebay.stores.session import SessionStore
from forebay.stores.timestamped import TimestampedKeyValueStore
from forebay.stores.ttl import TtlKeyValueStore
from forebay.stores.versioned import VersionedKeyValueStore
from forebay.stores.window import WindowStore

__all__ = [
    "KeyValueStore",
    "ListValueStore",
    "LruStore",
    "Materialized",
    "SessionStore",
    "TimestampedKeyValueStore",
    "TtlKeyValueStore",
    "VersionedKeyValueStore",
    "WindowStore",
]
