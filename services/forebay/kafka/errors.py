"""Errors of brokers, topics and settings. Those that a retry may fix are subclasses of forebay.codec.Unavailable."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import KafkaError, KafkaException

from forebay.codec import Unavailable


class KafkaSettingsError(ValueError):
    """A client option is unknown to librdkafka or has an invalid value. The message suggests similar options."""


class KafkaUnavailable(Unavailable):
    """The broker can't be reached or is failing; a retry may succeed."""


class LoginRefused(KafkaUnavailable):
    """The broker refuses our login. Callers retry for a while, since a new password may be on its way to the broker."""


class KafkaRefused(Exception):
    """The broker refused a request. The message contains its reason."""


class KafkaForbidden(KafkaRefused):
    """The broker refused a request because our principal lacks a right."""


class NotAuthorized(KafkaUnavailable):
    """Our principal lacks a right on the broker. Callers retry, since the right may be granted meanwhile."""


class TopicMissing(Exception):
    """A topic does not exist."""


class TopicsDiffer(Exception):
    """Existing topics are not as declared.

    Args:
        problems: a line for each difference, with its remedy.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class RegistryRefused(Exception):
    """The schema registry refused a request, because of an incompatible schema or a wrong login, for example."""


def without_partitions(topic: str) -> str:
    """Return the message for a topic that a broker describes without partitions."""
    return f"the topic {topic} has no partitions yet: it is being created or deleted, or the controller moves"


_PASSING = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._RESOLVE,
        KafkaError._WAIT_COORD,
        KafkaError.REQUEST_TIMED_OUT,
        KafkaError.BROKER_NOT_AVAILABLE,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_CONTROLLER,
        KafkaError.NETWORK_EXCEPTION,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.NOT_COORDINATOR,
        KafkaError.THROTTLING_QUOTA_EXCEEDED,
    }
)


_FORBIDDEN = frozenset(
    {
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)


_NO_MORE = (
    KafkaError._AUTO_OFFSET_RESET,
    KafkaError.OFFSET_OUT_OF_RANGE,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
)


def ends_reading(error: KafkaError) -> bool:
    """Return whether a partition can't be read any more: unread records, the topic or the right to read are gone."""
    return error.code() in _NO_MORE


def is_forbidden(error: KafkaError) -> bool:
    """Return whether the broker refuses because our principal lacks a right."""
    return error.code() in _FORBIDDEN


def is_group_refusal(error: KafkaError) -> bool:
    """Return whether the broker denies us our consumer group, which a consumer that commits nothing can ignore."""
    return error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED


def failure_of(error: KafkaError, doing: str) -> Unavailable:
    """Return the error to raise in a job, which retries after any error: NotAuthorized if a right is missing."""
    kind = NotAuthorized if is_forbidden(error) else Unavailable
    return kind(f"{doing}: {error}")


def from_kafka(exception: KafkaException, doing: str) -> Exception:
    """Return the error to raise for an error of librdkafka: KafkaUnavailable if a retry may help, else KafkaRefused."""
    error: KafkaError = exception.args[0]
    reason = f"{doing}: {error.str()} ({error.name()})"
    if is_forbidden(error):
        return KafkaForbidden(
            f"{doing}: not authorized ({error.name()}): `forebay acl` lists and grants what each role needs"
        )
    if error.retriable() or error.code() in _PASSING:
        return KafkaUnavailable(reason)
    return KafkaRefused(reason)
