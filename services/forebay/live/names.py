"""The check that no other command runs a job with the name of an engine."""

from __future__ import annotations

import os

from forebay.catalog import Service
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.settings import KafkaSettings
from forebay.live.log import statements_topic
from forebay.runtime.errors import StopJob
from forebay.sql.service import ENGINE


class NameOfEngine(StopJob):
    """A job has the name of an engine, which runs its own job."""


def mark_engine(application: str) -> None:
    """Allow the jobs that this process starts to have the engine's name."""
    os.environ[ENGINE] = application


def check_name(kafka: KafkaSettings, service: Service, application: str) -> None:
    """Check that a job does not have the name of an engine that did not start it.

    Raises:
        NameOfEngine: it does. The message contains the remedy. Unavailable: the broker does not answer.
    """
    topic = statements_topic(application)
    if os.environ.get(ENGINE) == application or topic in {own.name for own in service.topics(application)}:
        return
    # Listing all topics needs no right on this topic.
    if topic in TopicAdmin(kafka).names():
        raise NameOfEngine(
            f"{application} is the name of an engine, whose statements are in the topic {topic}: another job of this "
            f"name would take its tasks and its state. Run the engine with `forebay sql --live {application}`, or give "
            f"this job another name with --application. If the engine is not to run again, delete the topic {topic}"
        )
