"""Inputs that match a pattern, as of the job's start. They are the same in all its processes until its next start."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from forebay.catalog import Service, find_service
from forebay.job import match_topics, matched_topics
from forebay.kafka.admin import TopicAdmin
from forebay.kafka.identities import rescale_topic
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.errors import StopJob
from forebay.runtime.spec import JobSpec
from forebay.utils.names import matching


def matches(service: Service, application: str, names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the topics among `names` that match a service's patterns, without its own topics and those it names.

    Raises:
        StopJob: a topic matches two patterns, or no topic matches a pattern.
    """
    before = {topic for known in matched_topics(service.job).values() for topic in known}
    named = {topic.name for topic in service.topics(application)} - before | {rescale_topic(application)}
    others = [name for name in names if name not in named]
    by_pattern = {pattern: matching(pattern, others) for pattern in service.patterns}
    taken: dict[str, str] = {}
    for pattern, topics in by_pattern.items():
        if not topics:
            raise StopJob(
                f"no topic matches {pattern}: create the topics that {service.name} reads, then start the job again"
            )
        for topic in topics:
            if taken.setdefault(topic, pattern) != pattern:
                raise StopJob(
                    f"the topic {topic} matches {taken[topic]} and {pattern}: change the patterns, so that only one "
                    "matches"
                )
    return by_pattern


def find_matches(kafka: KafkaSettings, service: Service, application: str) -> Mapping[str, tuple[str, ...]]:
    """Look up the topics that match a service's patterns, and have this process read them. Raises StopJob."""
    if not service.patterns:
        return {}
    by_pattern = matches(service, application, TopicAdmin(kafka).names())
    match_topics(service.job, by_pattern)
    return by_pattern


class MatchWatch:
    """Detects new topics that match a job's patterns after its start. The job reads them after its next start."""

    def __init__(self, spec: JobSpec) -> None:
        self._spec = spec
        self._service = find_service(spec.service)
        self._known: set[str] = {topic for topics in spec.matched.values() for topic in topics}

    def look(self, names: Iterable[str]) -> list[str]:
        """Return the topics among `names` that match and were not returned before."""
        by_pattern = matches(self._service, self._spec.application, names)
        new = sorted({topic for topics in by_pattern.values() for topic in topics} - self._known)
        self._known.update(new)
        return new
