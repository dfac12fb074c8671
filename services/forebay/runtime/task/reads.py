"""Which partitions a task reads, and from where."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from forebay.job import Job
from forebay.runtime.changelog import repartition_topic
from forebay.runtime.errors import StateConflict
from forebay.runtime.protocol.lease import Lease
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.protocol.times import sender_name
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import GLOBAL, InputPartition
from forebay.runtime.task.repartition_queue import RepartitionPartition


def repartition_topics(application: str, job: Job) -> dict[str, str]:
    """Return the topic of each repartition."""
    return {name: repartition_topic(application, name) for part in job.topology for name in part.repartitions}


def task_input(
    job: Job,
    application: str,
    place: tuple[int, int],
    lease: Lease,
    position: TaskPosition,
    names: Mapping[str, str] = MappingProxyType({}),
) -> TaskInput:
    """Return what a task reads, from where it stands.

    Args:
        place: sub-topology and number of the task.
        names: the broker's names of input topics by those of the job, where they differ.
    """
    part, number = place
    topology = job.topology[part]
    ends = {(topic, partition): end for topic, partition, end in position.ends}
    until = lease.until or {}
    partitions = []
    for name in sorted(topology.inputs):
        topic = names.get(name, name)
        start = lease.start[topic]
        is_global = name in topology.global_tables
        rank = GLOBAL if is_global else 0 if name in topology.tables else 1
        for partition in range(len(start)) if is_global else range(number, len(start), lease.tasks):
            begin = ends.get((topic, partition), start[partition])
            stop = until[topic][partition] if topic in until else -1
            last = max(stop, begin) if stop >= 0 else -1
            partitions.append(InputPartition(topic, partition, rank, begin, last, name))
    repartitions = []
    for name in sorted(topology.repartitions):
        topic = repartition_topic(application, name)
        parts = [at for at, sending in enumerate(job.topology) if name in sending.sends]
        senders = [sender_name(at, task) for at in parts for task in range(lease.tasks)]
        begin = ends.get((topic, number), 0)
        rank = 0 if name in topology.tables else 1
        repartitions.append(RepartitionPartition(topic, number, senders, position.senders, begin, rank))
    return TaskInput(partitions, repartitions)


def refuse_moved(
    group: str,
    inputs: Mapping[tuple[int, int], TaskInput],
    positions: Mapping[tuple[int, int], TaskPosition],
    marked: Collection[tuple[str, int]] = (),
) -> None:
    """Refuse partitions that another sub-topology has read so far: this one would read them again from their beginning.

    A position is known by its sub-topology's number, which is that of its declaration; Kafka Streams knows it by topic
    and partition, and so may be declared in another order.

    Args:
        inputs: of a group's tasks, by sub-topology and number.
        positions: where they stand, of those that ever committed.
        marked: partitions that the job has read, as the marker group knows.

    Raises:
        StateConflict: says which topic, and what to do.
    """
    readers: dict[tuple[str, int], list[int]] = {at: [] for at in marked}
    for (part, _), position in positions.items():
        for topic, partition, _ in position.ends:
            readers.setdefault((topic, partition), []).append(part)
    for (part, _), item in inputs.items():
        for each in item.parts:
            before = readers.get((each.topic, each.partition))
            if before is None or part in before or (isinstance(each, InputPartition) and each.order[0] == GLOBAL):
                continue
            was = f"sub-topology {before[0]}" if before else "a sub-topology that is gone"
            raise StateConflict(
                f"{group}: {each.topic} was read by {was}, and would be by sub-topology {part}, from its "
                "beginning: sub-topologies are counted in the order they are declared in. Declare what there was in "
                "its old order and apart as before, what is new after it (`forebay topology` shows them); or start "
                "over with `forebay reset`"
            )
