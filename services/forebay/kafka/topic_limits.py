"""What topics take, as the brokers have them configured."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.limits.topics import CLIENT_MAX_BYTES, TopicLimits

_ANSWER_SECONDS = 8.0
_BATCH_BYTES = 1_000_000
"""librdkafka's own batch.size."""

log = logging.getLogger(__name__)


def read_topic_limits(settings: KafkaSettings, topics: Iterable[str]) -> dict[str, TopicLimits]:
    """Return what these topics take, by name; those that don't exist are left out.

    Without the right to see configurations none is known: what the topics are created with holds then.

    Raises:
        KafkaUnavailable: the broker can't be reached.
    """
    client_max_bytes = int(settings.producer().get("message.max.bytes", CLIENT_MAX_BYTES))
    try:
        descriptions = TopicAdmin(settings, _ANSWER_SECONDS).describe(topics)
    except KafkaForbidden as error:
        log.warning("the limits of the topics are unknown, assuming those of `forebay topics create`: %s", error)
        return {}
    return {
        name: TopicLimits.of(name, topic.config, client_max_bytes, topic.partitions)
        for name, topic in descriptions.items()
    }


def batch_limit(settings: KafkaSettings, limits: Mapping[str, TopicLimits]) -> dict[str, int]:
    """Return the option of a producer that keeps its batches as small as each of these topics takes them.

    A broker compares max.message.bytes with a whole batch: small records together may exceed what one record may have.
    """
    smallest = min((topic.max_bytes for topic in limits.values()), default=_BATCH_BYTES)
    chosen = int(settings.producer().get("batch.size", _BATCH_BYTES))
    return {} if smallest >= chosen else {"batch.size": smallest}
