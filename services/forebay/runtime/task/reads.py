"""Which partitions a task reads, and from where."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from forebay.job import Job
from forebay.runtime.changelog.topics import repartition_topic
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease, partitions
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import sender_name
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import GLOBAL, InputPartition
from forebay.runtime.task.record_formats import NO_FORMATS, RecordFormat
from forebay.runtime.task.repartition_queue import RepartitionPartition


def repartition_topics(application: str, job: Job) -> dict[str, str]:
    """Return the topic of each repartition."""
    return {
        name: repartition_topic(application, name)
        for sub_topology in job.topology
        for name in sub_topology.repartitions
    }


def task_input(
    job: Job,
    application: str,
    place: tuple[int, int],
    lease: Lease,
    position: TaskPosition,
    names: Mapping[str, str] = MappingProxyType({}),
    formats: Mapping[str, RecordFormat] = NO_FORMATS,
) -> TaskInput:
    """Return a task's input, which begins at its position.

    Args:
        place: sub-topology and number of the task.
        names: the broker's names of input topics, by the job's names, if they differ.
        formats: of the repartition topics' records, by topic.

    Raises:
        StateConflict: the lease has only a part of a global table.
    """
    sub_topology, number = place
    topology = job.topology[sub_topology]
    ends = {(topic, partition): end for topic, partition, end in position.ends}
    inputs = []
    for name in sorted(topology.inputs):
        topic = names.get(name, name)
        start = lease.start[topic]
        is_whole = name in topology.global_tables
        if is_whole and not isinstance(start, tuple):
            raise StateConflict(
                f"{topic}: this worker's code reads it as a global table, but the lease of task {number} does not have "
                "all its partitions: use the same image for driver and executors"
            )
        rank = GLOBAL if is_whole else 0 if name in topology.tables else 1
        for partition in sorted(partitions(start)):
            if not is_whole and partition % lease.tasks != number:
                continue
            # The position has precedence. The lease's offset is only for partitions without a committed offset.
            begin = ends.get((topic, partition), start[partition])
            inputs.append(InputPartition(topic, partition, rank, begin, _last(lease, topic, partition, begin), name))
    repartitions = []
    for name in sorted(topology.repartitions):
        topic = repartition_topic(application, name)
        sending = [(at, one) for at, one in enumerate(job.topology) if name in one.sends]
        tasks = range(lease.tasks)
        senders = [sender_name(one.identity, task) for _, one in sending for task in tasks]
        # Release 0.2 named senders by the number of their sub-topology. If a sub-topology got more inputs since, its
        # identity may have been another one of its topics.
        earlier = {
            f"{before}-{task}": sender_name(one.identity, task)
            for at, one in sending
            for before in (str(at), *one.inputs, *one.repartitions)
            for task in tasks
        }
        # Repartition records are deleted only up to their reader's position. Without a position, the first record still
        # exists.
        begin = ends.get((topic, number), 0)
        rank = 0 if name in topology.tables else 1
        repartitions.append(
            RepartitionPartition(
                topic, number, senders, position.senders, begin, rank, earlier, lease.token, formats.get(topic)
            )
        )
    item = TaskInput(inputs, repartitions)
    read = {(partition.topic, partition.partition) for partition in item.all_partitions}
    # Kept in the position: a later release that reads these partitions again continues from there.
    item.unread = tuple(end for end in position.ends if end[:2] not in read)
    lost = set(position.ends).difference(item.ends)
    assert not lost, f"{application}-{sub_topology}-{number}: the position's offsets {lost} are lost"
    return item


def _last(lease: Lease, topic: str, partition: int, begin: int) -> int:
    """Return the offset at which a partition that is read from `begin` ends in this lease; -1: it has no end.

    Nothing is read of a partition that was added after the end offsets were planned.
    """
    if lease.until is None or lease.restore_only:
        return -1
    ends = lease.until.get(topic, ())
    return max(ends[partition], begin) if partition in partitions(ends) else begin


def refuse_unknown(
    group: str,
    inputs: Iterable[TaskInput],
    positions: Iterable[TaskPosition],
    marked: Collection[tuple[str, int]],
) -> None:
    """Refuse partitions that the job has read but no position contains: they would be read again.

    Args:
        inputs: inputs of a group's tasks.
        positions: all positions of their internal changelogs.
        marked: partitions that the job has read, according to the marker group.

    Raises:
        StateConflict: names the topic and the remedy.
    """
    known = {(topic, partition) for position in positions for topic, partition, _ in position.ends}
    for item in inputs:
        for partition in item.all_partitions:
            at = partition.topic, partition.partition
            if at in marked and at not in known and not is_global(partition):
                raise StateConflict(
                    f"{group}: {partition.topic}-{partition.partition} was read by this job before, but no position is "
                    "left: the internal changelog of the sub-topology that read it was deleted. Restore that topic, or "
                    "start over with `forebay reset`"
                )


def is_global(partition: InputPartition | RepartitionPartition) -> bool:
    """Return whether a partition is one of a global table, which every task reads."""
    return isinstance(partition, InputPartition) and partition.order[0] == GLOBAL
