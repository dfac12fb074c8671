"""Rights on the broker: find those that our principal lacks, and grant rights as an administrator."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from forebay.kafka.acls import Resource, Right
from forebay.kafka.admission import Admission
from forebay.kafka.errors import KafkaUnavailable, is_forbidden
from forebay.kafka.settings import KafkaSettings

_TYPES = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}

_LOOK_SECONDS = 1.0


class AclAdmin:
    """Queries and grants rights.

    Args:
        settings: address of the broker, and our login.
        timeout_s: for each request, in seconds.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float = 10.0) -> None:
        self._admission = Admission(settings, timeout_s)
        self._settings = settings
        self._members: dict[str, Consumer] = {}

    def lacking(self, needed: Iterable[Right]) -> tuple[Right, ...]:
        """Return the rights on topics and groups that our principal lacks, as far as the broker reports it.

        Rights on transactional ids can't be queried. Topics that don't exist are left out.

        Raises:
            KafkaUnavailable: the broker can't be reached.
        """
        rights = [right for right in needed if right.resource is not Resource.TRANSACTIONAL_ID]
        topics = sorted({right.name for right in rights if right.resource is Resource.TOPIC})
        groups = sorted({right.name for right in rights if right.resource is Resource.GROUP})
        options: dict[str, Any] = {"include_authorized_operations": True, "request_timeout": self._admission.timeout_s}
        client = self._admission.client
        of_topics = client.describe_topics(TopicCollection(topics), **options) if topics else {}
        allowed = {(Resource.TOPIC, name): self._allowed_operations(future) for name, future in of_topics.items()}
        for name in groups:
            allowed[Resource.GROUP, name] = self._allowed_in(name, topics)
        return tuple(
            right
            for right in rights
            if (operations := allowed[right.resource, right.name]) is not None
            and AclOperation[right.operation.name] not in operations
        )

    def grant(self, rights: Sequence[Right], principal: str) -> None:
        """Grant rights to a principal, on every host. Existing rights are kept.

        Raises:
            KafkaRefused: the broker rejects them, has no authorizer, or we are not an administrator.
            KafkaUnavailable: the broker can't be reached.
        """
        bindings = [binding(right, principal) for right in rights]
        admission = self._admission
        for future in admission.client.create_acls(bindings, request_timeout=admission.timeout_s).values():
            try:
                admission.result(future)
            except KafkaException as error:
                raise admission.failure(error, f"can't grant rights to {principal} at {admission.servers}") from error
            except TimeoutError:
                raise admission.silence() from None

    def _allowed_in(self, group: str, topics: Sequence[str]) -> frozenset[AclOperation] | None:
        """Return the operations that are allowed on a group; None: the broker does not report them.

        The check requests the group's offsets, because a request to describe the group crashes the process if its
        coordinator goes away (librdkafka issue 4605). If we may not even look up the coordinator, the request gets no
        answer, and the refusal is an event of the consumer, at its first attempt only. Hence a consumer that got no
        answer is not reused.
        """
        member = self._members.pop(group, None) or Consumer(self._settings.consumer(**{"group.id": group}))
        partitions = [TopicPartition(topics[0] if topics else group, 0)]
        deadline = time.monotonic() + self._admission.timeout_s
        refused = False
        while not refused and time.monotonic() < deadline:
            try:
                member.committed(partitions, _LOOK_SECONDS)
            except KafkaException as error:
                refused = is_forbidden(error.args[0])
            else:
                member.consume(100, 0)
                # Keep only a consumer that got an answer. Any other has reported its refusal, and never does so again.
                self._members[group] = member
                return None
            events = [message.error() for message in member.consume(100, 0)]
            refused = refused or any(event is not None and is_forbidden(event) for event in events)
        member.close()
        return frozenset() if refused else None

    def _allowed_operations(self, future: Future[Any]) -> frozenset[AclOperation] | None:
        """Return the operations allowed on a topic or group; None: not reported. Raises KafkaUnavailable."""
        try:
            operations = self._admission.result(future).authorized_operations
        except KafkaException as error:
            if is_forbidden(error.args[0]):
                return frozenset()
            failure = self._admission.failure(error, f"can't look up the job's rights at {self._admission.servers}")
            if isinstance(failure, KafkaUnavailable):
                raise failure from error
            return None
        except TimeoutError:
            raise self._admission.silence() from None
        return frozenset(operations) if operations else None


def binding(right: Right, principal: str) -> AclBinding:
    """Return the ACL that grants a right to a principal on every host."""
    return AclBinding(
        _TYPES[right.resource],
        right.name,
        ResourcePatternType.PREFIXED if right.prefixed else ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation[right.operation.name],
        AclPermissionType.ALLOW,
    )
