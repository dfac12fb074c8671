"""Sets a topic's configuration."""

from __future__ import annotations

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from forebay.kafka.errors import from_kafka
from forebay.kafka.settings import KafkaSettings

_ANSWER_SECONDS = 30.0


def set_topic_config(settings: KafkaSettings, topic: str, name: str, value: str) -> None:
    """Set one configuration value of a topic. Others do not change. Raises KafkaUnavailable, KafkaRefused."""
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient(settings.admin())
    try:
        for answer in admin.incremental_alter_configs([resource]).values():
            answer.result(_ANSWER_SECONDS)
    except KafkaException as error:
        raise from_kafka(error, f"can't set {name} of the topic {topic}") from error
