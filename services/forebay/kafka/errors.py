"""What can be wrong with brokers, topics and settings; Unavailable (forebay.codec) is what may pass."""

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from forebay.codec import Unavailable


class KafkaSettingsError(ValueError):
    """A client option that librdkafka does not know or take; says which, and near matches."""


class KafkaUnavailable(Unavailable):
    """The broker can't be reached or is failing: try again."""


class KafkaRefused(Exception):
    """The broker answered no; says what and why."""


class TopicMissing(Exception):
    """A topic does not exist."""


class TopicsDiffer(Exception):
    """Existing topics are not as declared; the message has one line for each difference, with its remedy."""


class RegistryRefused(Exception):
    """The schema registry answered no: an incompatible schema, a wrong password; says why and what to do."""


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


def from_kafka(exception: KafkaException, doing: str) -> Exception:
    """Give the error to raise for librdkafka's: KafkaUnavailable if trying again may help, else KafkaRefused."""
    error: KafkaError = exception.args[0]
    reason = f"{doing}: {error.str()} ({error.name()})"
    if error.retriable() or error.code() in _PASSING:
        return KafkaUnavailable(reason)
    return KafkaRefused(reason)
