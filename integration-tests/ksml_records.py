"""The records in the topics of KSML definitions: JSON with text keys."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

from topic_reading import read_topic

from forebay.kafka.settings import KafkaSettings

Records = list[tuple[str, Any]]


def records_of(settings: KafkaSettings, topic: str) -> Records:
    """Return a topic's records, partition by partition."""
    return [
        ((message.key() or b"").decode(), json.loads(message.value() or b"null"))
        for messages in read_topic(settings, topic).values()
        for message in messages
    ]


def by_key(records: Records) -> dict[str, list[Any]]:
    """Return the values of each key in order."""
    results: dict[str, list[Any]] = defaultdict(list)
    for key, value in records:
        results[key].append(value)
    return results
