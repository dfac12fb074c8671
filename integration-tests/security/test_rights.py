"""The listed rights suffice, and each is necessary: without it, the broker refuses a step of the job."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from security.secured import Secured

from forebay.catalog import Service, Topic, find_service
from forebay.codec import Unavailable
from forebay.kafka.acl_admin import AclAdmin
from forebay.kafka.acls import Operation, Resource, Right, Role, rights
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused, KafkaUnavailable, NotAuthorized, failure_of
from forebay.kafka.identities import (
    control_group,
    marker_group,
    probe_group,
    queries_group,
    rescale_topic,
    restore_group,
    transactional_id,
)
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.partitioner import Partitioner
from forebay.processor.batch import BatchResult, Position
from forebay.processor.messages import Output, SideRecord
from forebay.queries.replica import TaskReplica
from forebay.runtime.broker.requests import BrokerView
from forebay.runtime.changelog.sub_topology_log import sub_topology_logs
from forebay.runtime.changelog.topics import ChangelogRouter, changelog_topics, internal_topic
from forebay.runtime.driver.rights import JobRights
from forebay.runtime.maintenance.follower import follower_of
from forebay.runtime.protocol.position import TaskPosition
from forebay.runtime.spark.control import DriverControl
from forebay.runtime.spec import JobSpec
from forebay.runtime.task.commit import Destinations, TaskCommit
from forebay.runtime.task.inputs import TaskInput
from forebay.runtime.task.partition_queue import InputPartition
from forebay.runtime.worker.reader import GroupReader
from forebay.runtime.worker.transaction import GroupProducer

SERVICE = find_service("ticket-sales")
PASSWORD = "pass-word"
SECONDS = 8.0


class Job:
    """The requests that a job sends to the broker, step by step and without Spark.

    Args:
        application: Application id, which is also the name of the user.
    """

    def __init__(self, settings: KafkaSettings, service: Service, application: str) -> None:
        self._settings = settings
        self._service = service
        self._application = application
        self._parts = range(service.stages)
        self._n = 0

    def everything(self) -> None:
        """Check the topics, fence, commit a record to every output, read, purge, and commit to the job's groups."""
        TopicAdmin(self._settings).partitions([rescale_topic(self._application)])
        topic = self._service.inputs[0].name
        with self._consumer(probe_group(self._application)) as consumer:
            assert BrokerView(AdminClient(self._settings.admin()), consumer, (topic,)).latest()[topic][0] > 0
        with self._consumer(marker_group(self._application)) as consumer:
            self._commit(consumer)
        self._read((topic, *(internal_topic(self._application, part) for part in self._parts)))
        self._read(changelog_topics(self._application, self._service.stores).values())
        self._read(topic.name for topic in self._repartitions)
        self._purge()
        self._tell(control_group(self._application))
        self._tell(restore_group(self._application))

    @property
    def _repartitions(self) -> tuple[Topic, ...]:
        return self._service.repartitions(self._application, 1)

    @contextmanager
    def _consumer(self, group: str) -> Iterator[Consumer]:
        own = {"group.id": group, "socket.timeout.ms": 5_000}
        consumer = Consumer(self._settings.consumer(**own))
        try:
            yield consumer
        finally:
            consumer.close()

    def _read(self, topics: Iterable[str]) -> None:
        """Read the first record of each topic."""
        for topic in topics:
            part = InputPartition(topic, 0, 1, 0)
            with self._consumer(restore_group(self._application)) as consumer:
                reader = GroupReader(consumer, AdminClient(self._settings.admin()))
                reader.assign([TaskInput([part])])
                deadline = time.monotonic() + SECONDS
                while not part.queue:
                    reader.read(0.1, 1)
                    if time.monotonic() > deadline:
                        raise Unavailable(f"nothing came from {topic}")

    def _purge(self) -> None:
        # Keep a reference to the client: it is destroyed with the last one, and its responses never arrive.
        admin = AdminClient(self._settings.admin())
        for place, future in admin.delete_records([TopicPartition(t.name, 0, 0) for t in self._repartitions]).items():
            try:
                future.result(SECONDS)
            except KafkaException as error:
                raise failure_of(error.args[0], f"can't purge {place.topic}") from error

    def _tell(self, group: str) -> None:
        with self._consumer(group) as consumer:
            try:
                consumer.commit(offsets=[TopicPartition(self._service.inputs[0].name, 0, 1)], asynchronous=False)
                (result,) = consumer.committed([TopicPartition(self._service.inputs[0].name, 0)], SECONDS)
            except KafkaException as error:
                raise failure_of(error.args[0], f"can't commit to {group}") from error
            assert result.offset == 1

    def _commit(self, markers: Consumer) -> None:
        application = self._application
        service = self._service.as_application(application)
        self._n += 1
        identity = {"transactional.id": transactional_id(application, 0)}
        producer = GroupProducer(
            markers,
            lambda: Producer(self._settings.producer(**identity)),
            Destinations(
                service.errors.name,
                service.late.name,
                {topic.name: topic.name for topic in self._repartitions},
                Partitioner(1),
            ),
            timeout=SECONDS,
        )
        producer.fence()
        try:
            commits = [self._of_part(part) for part in self._parts]
            producer.commit(commits, [commits[0].position])
        finally:
            producer.discard()

    def _of_part(self, part: int) -> TaskCommit:
        application = self._application
        service = self._service.as_application(application)
        is_last = part == service.stages - 1
        stores = service.stores if is_last else {}
        side = SideRecord(b"key", b"value", 5, [])
        result = BatchResult(
            outputs=[Output(b"key", b"value", 5, topic.name) for topic in service.outputs],
            onward=[] if is_last else [Output(b"key", b"value", 5, topic.name) for topic in self._repartitions],
            changes=[(b"\x01timer", b"row"), *((store.encode() + b"\0key", b"row") for store in stores)],
            errors=[side],
            late=[side],
        )
        result.position = Position(5, 5)
        ends = ((service.inputs[0].name, 0, self._n),)
        router = ChangelogRouter(changelog_topics(application, stores), internal_topic(application, part), 0)
        return TaskCommit(
            f"{application}-{part}-0", f"{part}-0", result, TaskPosition(application, self._n, 5, 5, ends=ends), router
        )


@pytest.fixture(scope="module")
def job(broker: Secured) -> Job:
    """Return a job whose user has exactly the listed rights. Its input contains one record."""
    admin = TopicAdmin(broker.administrator)
    admin.create(spec_of(topic) for topic in SERVICE.topics("tickets"))
    producer = Producer(broker.administrator.producer())
    producer.produce(SERVICE.inputs[0].name, b"value", b"key", 0)
    assert producer.flush(30) == 0
    broker.add_user("tickets", PASSWORD)
    broker.grant("User:tickets", *NEEDED)
    return Job(broker.user("tickets", PASSWORD), SERVICE, "tickets")


NEEDED = rights(SERVICE, "tickets", Role.RUN)


@contextmanager
def without(broker: Secured, principal: str, right: Right) -> Iterator[None]:
    broker.revoke(principal, right)
    try:
        yield
    finally:
        broker.grant(principal, right)


def test_listed_acls_suffice(job: Job) -> None:
    job.everything()
    job.everything()


@pytest.mark.parametrize("right", NEEDED, ids=str)
def test_broker_refuses_a_job_without_any_one_of_the_listed_acls(broker: Secured, job: Job, right: Right) -> None:
    with without(broker, "User:tickets", right):
        with pytest.raises((Unavailable, KafkaRefused)) as refused:
            job.everything()
        explanation = JobRights(broker.user("tickets", PASSWORD), SERVICE, "tickets").explain(str(refused.value))
    lacking = rights_of(right.resource) if right.resource is Resource.TRANSACTIONAL_ID else str(right)
    assert f"User:tickets lacks {lacking}: an administrator grants it by `forebay acl ticket-sales" in explanation
    job.everything()


@pytest.mark.parametrize(
    "right", [right for right in NEEDED if right.resource is not Resource.TRANSACTIONAL_ID], ids=str
)
def test_job_without_a_required_acl_fails_before_it_starts(broker: Secured, job: Job, right: Right) -> None:
    own = JobRights(broker.user("tickets", PASSWORD), SERVICE, "tickets")
    own.require()
    remedy = "`forebay acl ticket-sales --application tickets --principal 'User:tickets' --apply`"
    with without(broker, "User:tickets", right):
        with pytest.raises(NotAuthorized, match=re.escape(f"User:tickets lacks {right}: ")) as refused:
            own.require()
        assert remedy in str(refused.value)
        cause = f"the transaction was not committed: {right.resource.name}_AUTHORIZATION_FAILED"
        assert f"User:tickets lacks {right}: " in own.explain(cause)
    own.require()


def test_a_driver_ends_leases_although_it_may_not_read_failed_records(broker: Secured, job: Job) -> None:
    spec = JobSpec("ticket-sales", "tickets", 1, 1, broker.user("tickets", PASSWORD), {}, {}, "v1")
    control = DriverControl(spec)
    assert control.end_leases() == control.last_command() == control.command
    control.close()


def rights_of(kind: Resource) -> str:
    return ", ".join(str(right) for right in NEEDED if right.resource is kind)


def test_an_unauthorized_client_gets_an_explanation(broker: Secured, job: Job) -> None:
    wrong = broker.user("tickets", "another")
    with pytest.raises(KafkaUnavailable, match="refuses the login: check the TLS and SASL options"):
        TopicAdmin(wrong, 5.0).describe([SERVICE.inputs[0].name])
    with pytest.raises(KafkaUnavailable, match="refuses the login"):
        AclAdmin(wrong, 5.0).lacking(NEEDED)


def test_query_server_may_only_read_changelogs(broker: Secured, job: Job) -> None:
    job.everything()
    broker.add_user("asking", PASSWORD)
    needed = rights(SERVICE, "tickets", Role.QUERY)
    broker.grant("User:asking", *needed)
    user = broker.user("asking", PASSWORD)
    logs = sub_topology_logs(SERVICE, "tickets", {})
    replicas = [TaskReplica(0, log, {}) for log in logs]

    def catch_up() -> int:
        with closing(follower_of(user, queries_group("tickets"), [(0, replica) for replica in replicas])) as follower:
            return follower.catch_up(threading.Event())

    assert catch_up() >= 1
    assert all(replica.is_current for replica in replicas)
    for right in needed:
        with without(broker, "User:asking", right), pytest.raises(NotAuthorized, match="the changelogs' last offsets"):
            catch_up()


def test_user_can_not_grant_acls_to_itself(broker: Secured, job: Job) -> None:
    more = Right(Operation.READ, Resource.TOPIC, "user_activity", "curiosity")
    with pytest.raises(KafkaRefused, match=r"not authorized \(CLUSTER_AUTHORIZATION_FAILED\)"):
        AclAdmin(broker.user("tickets", PASSWORD)).grant([more], "User:tickets")


def test_a_restoring_job_needs_its_changelogs_too(broker: Secured, job: Job) -> None:
    roles = (Role.RUN, Role.RESTORE)
    restoring = JobRights(broker.user("tickets", PASSWORD), SERVICE, "tickets", roles)
    more = [right for right in rights(SERVICE, "tickets", Role.RESTORE) if right not in NEEDED]
    with pytest.raises(NotAuthorized, match="--role run --role restore --principal 'User:tickets'") as refused:
        restoring.require()
    assert all(str(right) in str(refused.value) for right in more)
