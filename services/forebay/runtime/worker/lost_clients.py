"""Detects clients of the broker that failed for good. Their worker ends, and the next lease opens the group again."""

from __future__ import annotations

from confluent_kafka import KafkaError

from forebay.runtime.errors import ClientFailed, GroupFenced

_FENCED = (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED)


def refuse_lost(error: KafkaError) -> None:
    """Raise an exception if an error has made a client unusable.

    A worker that took such an error for an outage would open the group again and fence the worker that has taken over.

    Raises:
        GroupFenced: another worker owns the group. ClientFailed: any other fatal error.
    """
    # Before the test for fatal errors: librdkafka reports fencing as fatal, too, but a new client would fence the
    # worker that took over.
    if error.code() in _FENCED:
        raise GroupFenced(f"another worker commits for this group now ({error.name()})")
    if error.fatal() or error.code() == KafkaError._FATAL:
        raise ClientFailed(f"a client of the broker can't be used any more ({error.name()}): {error.str()}")
