"""Unread records of repartition topics, from which an edited program starts."""

from __future__ import annotations

from forebay.processor.repartition_headers import SENDER
from forebay.runtime.protocol.times import sender_and_digest
from forebay.runtime.task.record_formats import topic_of
from forebay.testing import TestDriver


def carry_unread(old: TestDriver, new: TestDriver, *, recorded: bool = True, named: bool = True) -> None:
    """Start a program from the repartition records that another one sent, as if they were all unread.

    Args:
        recorded: whether the tasks recorded the formats of the records.
        named: whether the records name their formats, unlike those of release 0.2.
    """
    for topic, partitions in old._loop.topics.partitions.items():
        # The new program may no longer read a topic.
        for partition in partitions if topic.endswith("-repartition") and topic in new._loop.topics.partitions else ():
            for record in partition.records:
                (_, name), *others = record.headers() or []
                sender = name if named else sender_and_digest(name or b"")[0]
                new._loop.topics.partition(topic, partition.number).append(
                    record.key(), record.value(), record.timestamp()[1], [(SENDER, sender), *others]
                )
    tasks = [task for sub_topology in old.sub_topologies for task in sub_topology.state_tasks]
    rows = {task.place: [row for row in task.table.scan(b"\x01") if recorded and topic_of(row[0])] for task in tasks}
    new.restore({task.place: (rows[task.place], task.position) for task in tasks})
