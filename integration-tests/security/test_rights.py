"""Each right of the list is needed, and suffices: taken away alone, the broker refuses what the job does by it."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from forebay.runtime.batch import Range
from forebay.runtime.marker import Marker
from forebay.runtime.reader import RangeReader
from forebay.runtime.transaction import Topics, TransactionalSink
from secured import Secured

from forebay.catalog import Service, find_service
from forebay.codec import Unavailable
from forebay.kafka.acl_admin import AclAdmin
from forebay.kafka.acls import Operation, Resource, Right, Role, rights
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaRefused, KafkaUnavailable, NotAuthorized, failed
from forebay.kafka.identities import queries_group, rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.processor.engine import BatchResult, Position
from forebay.processor.messages import Output, SideRecord
from forebay.queries.replica import TaskReplica
from forebay.runtime.broker import BrokerView
from forebay.runtime.changelog import ChangelogRouter, changelog_topics, internal_topic
from forebay.runtime.follower import follower_of
from forebay.runtime.rights import JobRights
from forebay.runtime.stage_log import stage_logs

SERVICE = find_service("ticket-sales")
PASSWORD = "pass-word"
SECONDS = 8.0


class Job:
    """What a job does to the broker, step by step, without Spark.

    Args:
        application: also its user's name.
    """

    def __init__(self, settings: KafkaSettings, service: Service, application: str) -> None:
        self._settings = settings
        self._service = service
        self._application = application
        self._batch = 0

    def everything(self) -> None:
        """Look, read, report lag, and commit a batch of each stage: one record to every topic it writes."""
        TopicAdmin(self._settings).partitions([rescale_topic(self._application)])
        self._probe()
        self._read()
        self._report_lag()
        for stage in range(self._service.stages):
            self._commit(stage)

    def _consumer(self, group: str) -> Consumer:
        return Consumer(self._settings.consumer(**{"group.id": group}))

    def _read(self) -> None:
        consumer = self._consumer(f"{self._application}-marker")
        try:
            (stream,) = RangeReader(consumer, SECONDS).read([Range(self._service.inputs[0].name, 0, 0, 1)])
            assert len(list(stream)) == 1
        finally:
            consumer.close()

    def _probe(self) -> None:
        consumer = self._consumer(f"{self._application}-probe")
        topic = self._service.inputs[0].name
        view = BrokerView(AdminClient(self._settings.admin()), consumer, (topic,))
        try:
            assert view.latest()[topic][0] > 0
            assert (topic, 0) in view.timestamps({(topic, 0): 0})
        finally:
            consumer.close()

    def _report_lag(self) -> None:
        answers: list[KafkaError | None] = []
        own = {
            "group.id": self._application,
            "on_commit": lambda error, _places: answers.append(error),
            "socket.timeout.ms": 5_000,
        }
        consumer = Consumer(self._settings.consumer(**own))
        consumer.commit(offsets=[TopicPartition(self._service.inputs[0].name, 0, 1)], asynchronous=True)
        deadline = time.monotonic() + SECONDS
        while not answers:
            assert time.monotonic() < deadline, "the broker does not answer"
            message = consumer.poll(0.1)
            if message is not None:
                answers.append(message.error())
        consumer.close()
        if answers[0] is not None:
            raise failed(answers[0], "lag")

    def _commit(self, stage: int) -> None:
        service, application = self._service, self._application
        internal = internal_topic(application, stage)
        consumer = self._consumer(f"{application}-marker")
        identity = {"transactional.id": f"{application}-{stage}-0"}
        place = (internal, 0) if stage else (service.inputs[0].name, 0)
        stores = service.stores if stage == service.stages - 1 else {}
        sink = TransactionalSink(
            consumer,
            consumer,
            lambda: Producer(self._settings.producer(**identity)),
            Topics(service.errors.name, service.late.name),
            ChangelogRouter(changelog_topics(application, stores), internal, 0),
            [place],
            timeout=SECONDS,
        )
        try:
            before = sink.marker(application, 1 << 40)
            number = 1 if before is None else before.batch + 1
            side = SideRecord(b"key", b"value", 5, [])
            result = BatchResult(
                outputs=[Output(b"key", b"value", 5, topic.name) for topic in service.outputs],
                changes=[(b"\x01timer", b"row"), *((store.encode() + b"\0key", b"row") for store in stores)],
                errors=[side],
                late=[side],
            )
            result.position = Position(5, 5)
            sink.commit(result, [Range(*place, 0, number)], Marker(application, number, 5, f"{number:032x}", "v1"))
        finally:
            sink.discard()
            consumer.close()


@pytest.fixture(scope="module")
def job(secured: Secured) -> Job:
    """Give a job whose user has what the list says and nothing else; its input holds a record."""
    admin = TopicAdmin(secured.administrator)
    admin.create(spec_of(topic) for topic in SERVICE.topics("tickets"))
    producer = Producer(secured.administrator.producer())
    producer.produce(SERVICE.inputs[0].name, b"value", b"key", 0)
    assert producer.flush(30) == 0
    secured.add_user("tickets", PASSWORD)
    secured.grant("User:tickets", *NEEDED)
    return Job(secured.user("tickets", PASSWORD), SERVICE, "tickets")


NEEDED = rights(SERVICE, "tickets", Role.RUN)


@contextmanager
def without(secured: Secured, principal: str, right: Right) -> Iterator[None]:
    secured.revoke(principal, right)
    try:
        yield
    finally:
        secured.grant(principal, right)


def test_the_list_suffices(job: Job) -> None:
    job.everything()
    job.everything()


@pytest.mark.parametrize("right", NEEDED, ids=str)
def test_without_one_of_them_the_broker_refuses(secured: Secured, job: Job, right: Right) -> None:
    with without(secured, "User:tickets", right):
        with pytest.raises((Unavailable, KafkaRefused)) as refused:
            job.everything()
        told = JobRights(secured.user("tickets", PASSWORD), SERVICE, "tickets").explain(str(refused.value))
    lacking = rights_of(right.resource) if right.resource is Resource.TRANSACTIONAL_ID else str(right)
    assert f"User:tickets lacks {lacking}: an administrator grants it by `forebay acl ticket-sales" in told
    job.everything()


@pytest.mark.parametrize(
    "right", [right for right in NEEDED if right.resource is not Resource.TRANSACTIONAL_ID], ids=str
)
def test_a_job_that_lacks_one_of_them_says_so_before_it_starts(secured: Secured, job: Job, right: Right) -> None:
    own = JobRights(secured.user("tickets", PASSWORD), SERVICE, "tickets")
    own.require()
    remedy = "`forebay acl ticket-sales --application tickets --principal 'User:tickets' --apply`"
    with without(secured, "User:tickets", right):
        with pytest.raises(NotAuthorized, match=re.escape(f"User:tickets lacks {right}: ")) as refused:
            own.require()
        assert remedy in str(refused.value)
        cause = f"batch 3 was not committed: {right.resource.name}_AUTHORIZATION_FAILED"
        assert f"User:tickets lacks {right}: " in own.explain(cause)
    own.require()


def rights_of(kind: Resource) -> str:
    return ", ".join(str(right) for right in NEEDED if right.resource is kind)


def test_a_stranger_is_told_that_he_is_not_let_in(secured: Secured, job: Job) -> None:
    wrong = secured.user("tickets", "another")
    with pytest.raises(KafkaUnavailable, match="does not let us in: check the TLS and SASL options"):
        TopicAdmin(wrong, 5.0).describe([SERVICE.inputs[0].name])
    with pytest.raises(KafkaUnavailable, match="does not let us in"):
        AclAdmin(wrong, 5.0).lacking(NEEDED)


def test_a_query_server_reads_the_changelogs_and_nothing_else(secured: Secured, job: Job) -> None:
    job.everything()
    secured.add_user("asking", PASSWORD)
    needed = rights(SERVICE, "tickets", Role.QUERY)
    secured.grant("User:asking", *needed)
    user = secured.user("asking", PASSWORD)
    logs = stage_logs(SERVICE, "tickets", {})
    replicas = [TaskReplica(0, log, {}) for log in logs]

    def catch_up() -> int:
        with closing(follower_of(user, queries_group("tickets"), [(0, replica) for replica in replicas])) as follower:
            return follower.catch_up(threading.Event())

    assert catch_up() >= 1
    assert all(replica.is_current for replica in replicas)
    for right in needed:
        with without(secured, "User:asking", right), pytest.raises(NotAuthorized, match="the changelogs' ends"):
            catch_up()


def test_nobody_grants_rights_to_himself(secured: Secured, job: Job) -> None:
    more = Right(Operation.READ, Resource.TOPIC, "user_activity", "curiosity")
    with pytest.raises(KafkaRefused, match=r"not authorized \(CLUSTER_AUTHORIZATION_FAILED\)"):
        AclAdmin(secured.user("tickets", PASSWORD)).grant([more], "User:tickets")


def test_a_restoring_job_needs_its_changelogs_too(secured: Secured, job: Job) -> None:
    roles = (Role.RUN, Role.RESTORE)
    restoring = JobRights(secured.user("tickets", PASSWORD), SERVICE, "tickets", roles)
    more = [right for right in rights(SERVICE, "tickets", Role.RESTORE) if right not in NEEDED]
    with pytest.raises(NotAuthorized, match="--role run --role restore --principal 'User:tickets'") as refused:
        restoring.require()
    assert all(str(right) in str(refused.value) for right in more)
