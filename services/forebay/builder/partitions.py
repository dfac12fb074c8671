"""Repartitions that do not spread their records over all tasks by the hash of the key."""

from __future__ import annotations

from typing import Any

from forebay.builder.nodes import Node, Partitioner, Spreading, TopologyError
from forebay.formats import key_writer
from forebay.partitioner import Partitioner as ByHash


def spreading(parent: Node, partitioner: Partitioner | None, name: str, partitions: int) -> Spreading | None:
    """Return how the records of a repartition of `parent` are partitioned. None: by the hash of the key.

    The topic itself has one partition per task. A record's number among `partitions`, modulo the number of tasks, is
    its partition. Records with the same number are therefore in one task and in order. (In Kafka Streams, the
    sub-topology has `partitions` tasks instead.)

    Args:
        partitioner: Function of a record's key (row text) and value that returns a number.
        partitions: Number of partitions. 0: as many as there are tasks.

    Raises:
        TopologyError: `partitions` is not a whole number of at least 0.
    """
    if partitions.__class__ is not int or partitions < 0:
        raise TopologyError(f"repartition {name}: partitions={partitions!r}: write a whole number from 1, or none")
    if partitioner is None and not partitions:
        return None
    if partitioner is None:
        return Spreading(_by_key(parent, partitions), f"in {partitions} partitions", _among_words(partitions))
    numbers = partitioner if not partitions else _among(partitioner, partitions, _by_key(parent, partitions))
    # Without the name: a repartition may be renamed. Two versions of a function can't be compared.
    how = f"by a partitioner {_among_words(partitions)}" if partitions else "by a partitioner"
    return Spreading(numbers, f"partitioned by the partitioner of {name}", how)


def _among_words(partitions: int) -> str:
    return f"in {partitions} partition{'' if partitions == 1 else 's'}"


def _by_key(parent: Node, partitions: int) -> Partitioner:
    # Hash the bytes that are written, as Kafka's partitioner does. The row text of a number differs from its bytes.
    of_hash, kind = ByHash(partitions), parent.key
    write = str.encode if kind.is_text else key_writer(kind)
    return lambda key, _value: of_hash(b"" if key is None else write(key))


def _among(partitioner: Partitioner, partitions: int, by_key: Partitioner) -> Partitioner:
    def number(key: Any, value: Any) -> int | None:
        number = partitioner(key, value)
        if number is None:
            return by_key(key, value)
        # A result that is not a whole number of at least 0 is refused when the record is sent (see `sending.py`).
        return number % partitions if number.__class__ is int and number > 0 else number

    return number
