"""The record limits of topics, from their configuration on the broker."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.limits.topics import CLIENT_MAX_BYTES, TopicLimits

_ANSWER_SECONDS = 8.0
_BATCH_BYTES = 1_000_000
"""librdkafka's default of batch.size."""

log = logging.getLogger(__name__)


def read_topic_limits(settings: KafkaSettings, topics: Iterable[str]) -> dict[str, TopicLimits]:
    """Return the record limits of existing topics, by name.

    Without the right to read configurations, the result is empty, and callers assume the limits that topics are
    created with.

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
    """Return the producer option that limits batches to the smallest maximum of these topics; {} if none is needed.

    A broker compares max.message.bytes with a whole batch, so several small records may exceed it together.
    """
    smallest = min((topic.max_bytes for topic in limits.values()), default=_BATCH_BYTES)
    chosen = int(settings.producer().get("batch.size", _BATCH_BYTES))
    return {} if smallest >= chosen else {"batch.size": smallest}
