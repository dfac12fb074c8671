"""Changes the number of tasks of a drained job: its changelogs are rewritten through a staging topic.

Nothing changes until the single transaction of the staging topic is committed. From then on the staging topic is
authoritative, and publishing it can be repeated until it is complete. Nothing is deleted before its replacement was
counted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from confluent_kafka import Consumer

from forebay.catalog import Service, Topic
from forebay.job import global_tables, load_job
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.groups import delete_groups
from forebay.kafka.identities import marker_group, rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicSpec, spec_of
from forebay.runtime.changelog.sub_topology_log import SubTopologyLog, sub_topology_logs
from forebay.runtime.changelog.topics import former_topics, internal_topic
from forebay.runtime.errors import StateConflict
from forebay.runtime.maintenance.staging import MAX_BYTES, Record, Staging
from forebay.runtime.maintenance.unread_repartitions import former_repartitions, places_with_records
from forebay.runtime.positions import undelivered_tasks
from forebay.runtime.protocol.position import POSITION, TaskPosition
from forebay.runtime.task.tail import Tail
from forebay.runtime.worker.tails import read_tails
from forebay.service.renaming import actual_topics
from forebay.stores.kinds import recorded_kind
from forebay.stores.memory import MemoryTable
from forebay.stores.spread import Spreader
from forebay.stores.table import Table
from forebay.stores.upgrade import describe_store


class Rescale:
    """The change of one job's number of tasks. The job must not run.

    Args:
        logic: settings of the service's logic.
        before: present number of tasks, each with one partition of every changelog.
        after: new number of tasks.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        service: Service,
        application: str,
        logic: Mapping[str, Any],
        before: int,
        after: int,
    ) -> None:
        self._kafka = kafka
        self._service = service
        self._application = application
        self._before = before
        self._after = after
        self._topic = rescale_topic(application)
        self._changelogs = service.changelogs(application, after)
        self._staging = Staging(kafka, self._topic, [topic.name for topic in self._changelogs], after)
        self._logs = sub_topology_logs(service, application, logic)
        self._repartitions = {topic.name for topic in service.repartitions(application, before)}
        job = load_job(service.job)
        self._identities = [sub_topology.identity for sub_topology in job.topology]
        self._global = actual_topics(service.inputs, global_tables(job))

    def begin(self) -> None:
        """Delete an incomplete staging topic.

        Raises:
            StateConflict: the job had more sub-topologies before. Their positions can't be moved to the new tasks.
        """
        admin = TopicAdmin(self._kafka)
        former = former_topics(self._application, self._service.stages, admin.names())
        if former:
            raise StateConflict(
                f"an earlier release of {self._application} had more sub-topologies. Their positions in "
                f"{', '.join(former)} can't be moved to other tasks: nothing was changed. Start the job once with the "
                "topology that has these sub-topologies, and rescale it then; or delete these topics, if you do not "
                f"need the sub-topologies; or run `forebay reset {self._service.name}`, which deletes the whole state "
                "of the job"
            )
        admin.delete([self._topic])

    def stage(self) -> int:
        """Write the new tasks' state to the staging topic in one transaction; return its number of records.

        Raises:
            NotSpreadable: rows can't be moved to other tasks.
            StateConflict: as `begin`; the job was not drained, has never run, or had another topology at its last
                commit; a row is too large for its changelog. Unavailable.
        """
        self.begin()
        # All records before the first one is written, because they are counted, and their sizes are checked.
        records = list(self._records())
        self._staging.write(records, self._limits())
        return len(records)

    def publish(self) -> int:
        """Recreate the changelogs from the staging topic, then delete markers and topic; return the number of records.

        Raises:
            StateConflict: the staging topic, or a changelog that was written from it, has a wrong number of records.
        """
        admin = TopicAdmin(self._kafka)
        records, said = self._staging.read()
        recreated = self._service.repartitions(self._application, self._after)
        # Recreated, not overwritten, because rows of the former tasks or of an interrupted attempt must not stay.
        admin.delete(topic.name for topic in (*self._changelogs, *recreated))
        admin.create(self._spec(topic, said.limits[topic.name]) for topic in self._changelogs)
        admin.create(spec_of(topic) for topic in recreated)
        self._staging.send(((record.topic, record) for record in records), max(said.limits.values()))
        self._staging.compare(self._staging.published_counts(), said, "what was published")
        # The group's offsets belong to the former tasks. The job recreates it from the positions in the changelogs.
        delete_groups(self._kafka, (marker_group(self._application),))
        # Last: until it is deleted, an interrupted run can be completed from it.
        admin.delete([self._topic])
        return len(records)

    def _limits(self) -> dict[str, int]:
        """Return the largest record (bytes) of each new changelog: as declared, or as raised by an operator."""
        changelogs = TopicAdmin(self._kafka).describe(topic.name for topic in self._changelogs)
        held = {name: int(topic.config.get(MAX_BYTES, 0)) for name, topic in changelogs.items()}
        return {topic.name: max(int(topic.config[MAX_BYTES]), held.get(topic.name, 0)) for topic in self._changelogs}

    @staticmethod
    def _spec(topic: Topic, limit: int) -> TopicSpec:
        return spec_of(replace(topic, config={**topic.config, MAX_BYTES: str(limit)}))

    def _records(self) -> Iterator[Record]:
        sub_topologies = [self._read(sub_topology, log) for sub_topology, log in enumerate(self._logs)]
        positions = {
            (sub_topology, task): position
            for sub_topology, (_, positions_of) in enumerate(sub_topologies)
            for task, position in enumerate(positions_of)
            if position is not None
        }
        if not positions:
            raise StateConflict(
                f"{self._application} has no commits, so there is no state to move: run it with --tasks and the new "
                "number"
            )
        # Records between sub-topologies would be in the partitions of their former tasks.
        if undelivered_tasks(positions):
            raise StateConflict(
                f"{self._application} has records between sub-topologies that release 0.1 has not processed: run it "
                "with release 0.1 and --trigger available-now first"
            )
        # Before any row is spread, because rows are spread by the keys of the sub-topology that wrote them.
        refuse_other_topology(self._application, positions, self._identities)
        recreated = self._repartitions | self._refuse_unread(positions.values())
        for sub_topology, (tables, positions_of) in enumerate(sub_topologies):
            yield from self._sub_topology_records(sub_topology, tables, positions_of, recreated)

    def _refuse_unread(self, positions: Collection[TaskPosition]) -> set[str]:
        """Refuse records that wait for a removed sub-topology; return that sub-topology's repartition topics.

        Raises:
            StateConflict: such records are in partitions of the former number of tasks. Unavailable.
        """
        offsets = former_repartitions(self._application, positions, self._repartitions)
        if not offsets:
            return set()
        inputs, existing = {topic.name for topic in self._service.inputs}, set(TopicAdmin(self._kafka).names())
        former = {topic for topic, _ in offsets} - inputs
        places = {place: offset for place, offset in offsets.items() if place[0] in former & existing}
        waiting = sorted({topic for topic, _ in self._places_with_records(places)})
        if waiting:
            raise StateConflict(
                f"{', '.join(waiting)}: records wait for a sub-topology that was removed, in partitions of the former "
                "number of tasks: nothing was staged. Add its statements again, run the job until it has read them, "
                "and rescale it then; or delete these topics, if you do not need the records"
            )
        return former

    def _places_with_records(self, offsets: Mapping[tuple[str, int], int]) -> set[tuple[str, int]]:
        return places_with_records(self._new_consumer(), offsets) if offsets else set()

    def _read(self, sub_topology: int, log: SubTopologyLog) -> tuple[list[MemoryTable], list[TaskPosition | None]]:
        name, rows = self._application, log.rows()
        tables = [MemoryTable() for _ in range(self._before)]
        tails = [Tail(f"{name}-{sub_topology}-{task}", rows, task, table, {}) for task, table in enumerate(tables)]
        read_tails(f"{name}-{sub_topology}", tails, self._new_consumer)
        for tail in tails:
            refuse_other_kinds(tail.name, tail.table, log, self._service.name)
        return tables, [tail.position for tail in tails]

    def _new_consumer(self) -> Consumer:
        return Consumer(self._kafka.consumer(**{"group.id": marker_group(self._application)}))

    def _sub_topology_records(
        self,
        sub_topology: int,
        tables: list[MemoryTable],
        positions: list[TaskPosition | None],
        recreated: AbstractSet[str],
    ) -> Iterator[Record]:
        log = self._logs[sub_topology]
        internal = log.internal
        spreader = Spreader(log.stores, log.processor.record_key, self._before, self._after)
        # In memory, all at once, because a new task has rows of several former tasks.
        for task, rows in enumerate(spreader.spread([table.scan(b"") for table in tables])):
            known = [position for a in spreader.ancestors(task) if (position := positions[a]) is not None]
            if not known:
                continue
            position = merge_positions(known, task, self._after, recreated, self._global)
            time = max(position.stream_time, 0)
            for topic, key, value, at in log.router(task).route(sorted(rows.items()), time):
                yield Record(topic, task, key, value, at)
            # Last, as in a commit: a reader that finds the position has read all rows.
            yield Record(internal, task, POSITION, position.to_json(), time)


def refuse_other_topology(
    application: str, positions: Mapping[tuple[int, int], TaskPosition], identities: Sequence[str]
) -> None:
    """Refuse positions of other sub-topologies, because their rows may have keys of another `record_key`.

    Args:
        positions: by sub-topology and task.
        identities: names of the sub-topologies, in order.

    Raises:
        StateConflict.
    """
    for (sub_topology, task), position in sorted(positions.items()):
        if position.sub_topology not in ("", identities[sub_topology]):
            raise StateConflict(
                f"{internal_topic(application, sub_topology)}, partition {task}, was written by the sub-topology "
                f"{position.sub_topology}, but belongs to {identities[sub_topology]} now: nothing was staged. Run the "
                "job once with the edited topology, until it commits, before you rescale it"
            )


def refuse_other_kinds(name: str, table: Table, log: SubTopologyLog, service: str) -> None:
    """Refuse rows of stores that are declared differently now, because they would be written in the wrong format.

    Args:
        name: name of the task.

    Raises:
        StateConflict.
    """
    for store in log.stores:
        recorded = recorded_kind(table, store.name)
        if recorded and recorded != describe_store(store):
            raise StateConflict(
                f"{name}: store {store.name} holds rows of the format {recorded!r}, but is declared as "
                f"{describe_store(store)!r}: nothing was changed. "
                f"Convert them first with `forebay store upgrade {service}`"
            )


def merge_positions(
    positions: list[TaskPosition],
    task: int,
    tasks: int,
    repartitions: AbstractSet[str],
    whole: AbstractSet[str] = frozenset(),
) -> TaskPosition:
    """Return the position of a new task whose keys come from tasks with `positions`.

    Args:
        repartitions: topics that are drained and recreated, so that offsets in them become invalid.
        whole: topics of which every task has read all partitions.
    """
    global_stores = {record for position in positions for record in position.global_stores}
    # The changelogs of removed stores stay as they are, so global tables that are not read lose their positions.
    former = {topic for topic, _ in global_stores} - whole
    ends = {
        (topic, partition): end
        for position in positions
        for topic, partition, end in position.ends
        # Repartition topics are recreated, so offsets in them become invalid.
        if topic not in repartitions | former and (partition % tasks == task or topic in whole)
    }
    return replace(
        positions[0],
        n=max(position.n for position in positions),
        stream_time=max(position.stream_time for position in positions),
        closing_time=max(position.closing_time for position in positions),
        ends=tuple((*place, end) for place, end in sorted(ends.items())),
        # These are offsets in repartition topics, too.
        senders=(),
        handed_to=0,
        global_stores=tuple(sorted(record for record in global_stores if record[0] in whole)),
    )
