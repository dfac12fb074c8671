"""Compacted input topics: a record must not be compacted away before the job has read it.

After a downtime, the job resumes at its position. If a key has changed several times in the meantime, compaction leaves
only the last value, and results for the time in between would lack the earlier values.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from forebay.catalog import COMPACTION_LAG, Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import KafkaForbidden
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription, alter_command
from forebay.runtime.driver.prepare import TopicsUnfit

_ANSWER_SECONDS = 8.0

log = logging.getLogger(__name__)


def check_compacted_inputs(kafka: KafkaSettings, service: Service, max_downtime_ms: int) -> None:
    """Refuse inputs that may be compacted within the longest downtime (ms) that the job must survive; 0: accept all.

    Raises:
        TopicsUnfit: names the topics, and the commands that fix them.
    """
    if not max_downtime_ms:
        return
    names = [topic.name for topic in service.inputs]
    try:
        topics = TopicAdmin(kafka, _ANSWER_SECONDS).describe(names).values()
    except KafkaForbidden as error:
        log.warning("%s: can't check whether an input is compacted too soon: %s", service.name, error)
        return
    refused = compacted_too_soon(topics, max_downtime_ms)
    if refused:
        raise TopicsUnfit(refused)


def compacted_too_soon(topics: Iterable[TopicDescription], max_downtime_ms: int) -> str:
    """Return the topics that are compacted sooner, with the remedy; "" if there are none."""
    lags = {
        topic.name: topic.config.get(COMPACTION_LAG, "0")
        for topic in topics
        if "compact" in topic.config.get("cleanup.policy", "")
    }
    return "; ".join(
        f"the input {name} is compacted with {COMPACTION_LAG}={lag}: after a longer downtime records would be gone "
        f"that the job has not read. `{alter_command(name, COMPACTION_LAG, str(max_downtime_ms))}`, or say "
        f"what is enough: --max-downtime-ms {lag}"
        for name, lag in lags.items()
        if int(lag) < max_downtime_ms
    )
