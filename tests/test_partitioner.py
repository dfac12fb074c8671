"""murmur2 has the same results as in Kafka's clients (the vectors are from Kafka's UtilsTest)."""

from __future__ import annotations

import pytest

from forebay.partitioner import Partitioner, murmur2, partition_of

VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "signed"), VECTORS.items())
def test_hashes_are_kafkas(key: bytes, signed: int) -> None:
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_a_partition_is_the_positive_hash_modulo_their_number() -> None:
    assert partition_of(b"foobar", 7) == (-790332482 & 0x7FFFFFFF) % 7


def test_remembered_keys_keep_their_partition() -> None:
    partitioner = Partitioner(5, remembered=2)
    keys = [f"key-{n % 4}".encode() for n in range(40)]
    assert [partitioner(key) for key in keys] == [partition_of(key, 5) for key in keys]
