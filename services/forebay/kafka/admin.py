"""Topics: create, describe, delete."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import ConfigEntry, ConfigResource, ConfigSource, NewTopic, ResourceType

from forebay.kafka.admission import Admission
from forebay.kafka.errors import KafkaRefused, KafkaUnavailable, TopicMissing, TopicsDiffer, without_partitions
from forebay.kafka.settings import KafkaSettings
from forebay.kafka.topics import TopicDescription, TopicDifference, TopicSpec, differences

_POLL_S = 0.05
_SET_FOR_TOPIC = ConfigSource.DYNAMIC_TOPIC_CONFIG
_GONE = (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC)


class TopicAdmin:
    """Manages topics. Every method raises KafkaUnavailable if the broker can't be reached.

    Args:
        settings: address of the broker.
        timeout_s: for each request, and for waiting until a change is visible, in seconds.
    """

    def __init__(self, settings: KafkaSettings, timeout_s: float = 30.0) -> None:
        self._admission = Admission(settings, timeout_s)
        self._admin, self._servers = self._admission.client, self._admission.servers
        self._timeout_s = timeout_s

    def create(self, specs: Iterable[TopicSpec]) -> tuple[str, ...]:
        """Create missing topics. Return their names once all topics are usable.

        Raises:
            TopicsDiffer: existing topics differ from their declaration. Missing topics were created nevertheless.
            KafkaRefused: the broker refuses to create a topic.
        """
        specs_by_name = {spec.name: spec for spec in specs}
        existing = self.describe(specs_by_name)
        missing = [spec for name, spec in specs_by_name.items() if name not in existing]
        created = self._create(missing)
        # The controller answers before all brokers know the topic. A client that asks another one would not find it.
        self._wait(lambda: self._are_usable(specs_by_name), f"{', '.join(created)} to show up")
        differing = [line for name, topic in existing.items() for line in differences(specs_by_name[name], topic)]
        if differing:
            raise TopicsDiffer([str(line) for line in differing])
        return created

    def differences(self, specs: Iterable[TopicSpec]) -> tuple[TopicDifference, ...]:
        """Return all differences of existing topics from their declaration. Topics that don't exist are left out."""
        specs_by_name = {spec.name: spec for spec in specs}
        return tuple(
            line
            for name, topic in self.describe(specs_by_name).items()
            for line in differences(specs_by_name[name], topic)
        )

    def describe(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Return the topics that exist, by name, in the order of `names`."""
        topics = self._describe_usable(names)
        configs = self._configs(list(topics))
        return {
            name: TopicDescription(
                name,
                str(topic.topic_id),
                len(topic.partitions),
                min(len(partition.replicas) for partition in topic.partitions),
                {entry.name: str(entry.value) for entry in configs[name]},
                frozenset(entry.name for entry in configs[name] if ConfigSource(entry.source) is _SET_FOR_TOPIC),
            )
            for name, topic in topics.items()
            # The topic may be deleted between the two requests.
            if name in configs
        }

    def partitions(self, names: Iterable[str]) -> dict[str, int]:
        """Return the partition counts of the topics that exist, by name. It needs no right to read configuration."""
        return {name: len(topic.partitions) for name, topic in self._describe_usable(names).items()}

    def names(self) -> list[str]:
        """Return the names of all topics that our principal may describe."""
        try:
            return sorted(self._admission.call(lambda seconds: self._admin.list_topics(timeout=seconds)).topics)
        except KafkaException as error:
            raise self._admission.failure(error, f"can't list the topics of {self._servers}") from error

    def topic_ids(self, names: Sequence[str]) -> dict[str, str]:
        """Return the broker's id of each topic. Raises TopicMissing if one does not exist."""
        topics = self._describe(names)
        missing = [name for name in names if name not in topics]
        if missing:
            raise TopicMissing(f"{self._servers} has no topic {', '.join(missing)}: `forebay topics create` creates it")
        return {name: str(topic.topic_id) for name, topic in topics.items()}

    def delete(self, names: Iterable[str]) -> tuple[str, ...]:
        """Delete topics with all their records. Return the names of those that existed, once they are gone."""
        existing = list(self._describe(names))
        # The broker answers as soon as it has accepted the request. Until a topic is gone, no topic of the same name
        # can be created.
        if existing:
            for name, future in self._admin.delete_topics(existing, operation_timeout=self._timeout_s).items():
                self._if_exists(future, name)
            self._wait(lambda: not self._describe(existing), f"{', '.join(existing)} to go")
        return tuple(existing)

    def _create(self, specs: list[TopicSpec]) -> tuple[str, ...]:
        if not specs:
            return ()
        new = [NewTopic(s.name, s.partitions, s.replication_factor, config=dict(s.config)) for s in specs]
        created = []
        for name, future in self._admin.create_topics(new, operation_timeout=self._timeout_s).items():
            try:
                self._admission.result(future)
                created.append(name)
            except KafkaException as error:
                # Another process may have created it since it was described.
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise self._admission.failure(error, f"can't create the topic {name}") from error
        return tuple(created)

    def _are_usable(self, names: Collection[str]) -> bool:
        topics = self._describe(names)
        return topics.keys() >= set(names) and all(topic.partitions for topic in topics.values())

    def _describe_usable(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the result of `_describe`. Raises KafkaUnavailable for a topic that currently has no partitions."""
        topics = self._describe(names)
        for name, topic in topics.items():
            if not topic.partitions:
                raise KafkaUnavailable(without_partitions(name))
        return topics

    def _describe(self, names: Iterable[str]) -> dict[str, Any]:
        """Return librdkafka's descriptions of the topics that exist, by name, in the order of `names`."""
        unique_names = list(dict.fromkeys(names))  # librdkafka refuses a repeated topic
        if not unique_names:
            return {}
        futures = self._admin.describe_topics(TopicCollection(unique_names), request_timeout=self._timeout_s)
        return {name: topic for name in unique_names if (topic := self._if_exists(futures[name], name)) is not None}

    def _configs(self, names: list[str]) -> dict[str, list[ConfigEntry]]:
        if not names:
            return {}
        futures = self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
        answers = {resource.name: self._if_exists(future, resource.name) for resource, future in futures.items()}
        return {name: list(entries.values()) for name, entries in answers.items() if entries is not None}

    def _if_exists(self, future: Future[Any], name: str) -> Any:
        """Return the result of a request about a topic, or None if the topic does not exist."""
        try:
            return self._admission.result(future)
        except KafkaException as error:
            if error.args[0].code() in _GONE:
                return None
            raise self._admission.failure(error, f"can't describe the topic {name} at {self._servers}") from error
        except TimeoutError:
            raise self._admission.silence() from None

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._timeout_s
        while not done():
            if time.monotonic() > deadline:
                raise KafkaRefused(f"waited {self._timeout_s:.0f} s for {what}: see the broker's log for the reason")
            time.sleep(_POLL_S)
