"""Kafka's default partitioner: murmur2 of the key (org.apache.kafka.common.utils.Utils.murmur2)."""

from __future__ import annotations

_MASK = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995


def murmur2(data: bytes) -> int:
    """Return the hash of the data, an unsigned 32-bit integer."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        # Python's integers have no 32-bit overflow, so each product is cut to 32 bits.
        k = (k ^ k >> 24) * _M & _MASK
        h = h * _M & _MASK ^ k
    if length & 3:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Return the partition of a key among `partitions`."""
    # Clear the sign bit as Kafka's `toPositive` does. An absolute value would put negative hashes elsewhere.
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner:
    """`partition_of` for a fixed number of partitions, with a cache of keys."""

    def __init__(self, partitions: int, remembered: int = 100_000) -> None:
        self.partitions = partitions
        self._remembered = remembered
        self._known: dict[bytes, int] = {}

    def __call__(self, key: bytes) -> int:
        """Return the key's partition."""
        partition = self._known.get(key)
        if partition is None:
            if len(self._known) >= self._remembered:
                # Clearing the cache is cheaper than tracking the order of use at each call.
                self._known.clear()
            partition = self._known[key] = partition_of(key, self.partitions)
        return partition
