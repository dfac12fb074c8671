"""Topics of a job and of its producers, made where they are missing."""

from __future__ import annotations

import dataclasses
from contextlib import suppress

from forebay.catalog import MAX_DOWNTIME_MS, Service, UnknownService, find_service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.errors import TopicsDiffer
from forebay.kafka.identities import rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import spec_of
from forebay.runtime.driver.prepare import count_tasks


def create_missing(
    kafka: KafkaSettings, service: Service, application: str, tasks: int, max_downtime_ms: int = MAX_DOWNTIME_MS
) -> tuple[str, ...]:
    """Create the topics of a job that don't exist, its own with a partition per task; give their names.

    Those that exist otherwise than declared are for the start to judge.

    Args:
        tasks: 0 for as many as the changelogs have, else the first input.
        max_downtime_ms: for which compacted inputs keep every record.

    Raises:
        TopicsUnfit: an input's partitions are not a multiple of the tasks. KafkaRefused, KafkaUnavailable.
    """
    admin = TopicAdmin(kafka)
    job = service.as_application(application)
    read = {topic.name for topic in job.inputs}
    shared = [
        topic.kept_for(max_downtime_ms) if topic.name in read else topic
        for topic in {
            topic_or_side.name: topic_or_side for topic_or_side in (*job.inputs, *job.outputs, job.errors, job.late)
        }.values()
    ]
    rescaling = rescale_topic(application)
    before = admin.partitions([*(topic.name for topic in job.topics(application, tasks)), rescaling])
    if rescaling in before:
        return ()  # what is missing now is for `forebay rescale` to make; the start says so
    with suppress(TopicsDiffer):
        admin.create(spec_of(topic) for topic in shared)
    count = count_tasks(kafka, service, application, tasks)
    own = service.own_topics(application, count)
    with suppress(TopicsDiffer):
        admin.create(spec_of(topic) for topic in own)
    return tuple(topic.name for topic in (*shared, *own) if topic.name not in before)


def create_input(kafka: KafkaSettings, service: str, topic: str, name: str = "") -> None:
    """Create a service's input under a name if it is not there; one of a service out of the table is left alone.

    Raises:
        KafkaRefused, KafkaUnavailable: the broker says no, or nothing.
    """
    try:
        inputs = find_service(service).inputs
    except UnknownService:
        return
    specs = [
        spec_of(dataclasses.replace(input_topic, name=name or topic))
        for input_topic in inputs
        if input_topic.name == topic
    ]
    with suppress(TopicsDiffer):
        TopicAdmin(kafka).create(specs)
