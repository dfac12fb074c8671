"""State stores: what logic reads and writes, and the tables behind it."""

from forebay.stores.keyvalue import KeyValueStore

__all__ = ["KeyValueStore"]
