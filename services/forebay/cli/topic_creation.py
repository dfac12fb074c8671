"""Functions that create the missing topics of jobs and producers."""

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
    """Create the missing topics of a job, and return their names. Its own topics get one partition per task.

    Existing topics that differ from their declaration are ignored here: the start of the job checks them.

    Args:
        tasks: 0: as many as the changelogs have partitions, or the first input if there are no changelogs yet.
        max_downtime_ms: time for which compacted inputs keep every record.

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
        return ()  # `forebay rescale` was interrupted and must create the rest; the start of the job reports that
    with suppress(TopicsDiffer):
        admin.create(spec_of(topic) for topic in shared)
    count = count_tasks(kafka, service, application, tasks)
    own = service.own_topics(application, count)
    with suppress(TopicsDiffer):
        admin.create(spec_of(topic) for topic in own)
    return tuple(topic.name for topic in (*shared, *own) if topic.name not in before)


def create_input(kafka: KafkaSettings, service: str, topic: str, name: str = "") -> None:
    """Create an input topic of a service, called `name`, if it is missing. Do nothing for an unknown service.

    Raises:
        KafkaRefused, KafkaUnavailable: the broker refuses, or does not answer.
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
