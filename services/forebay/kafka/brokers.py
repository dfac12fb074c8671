"""The brokers of a cluster, and their configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import ConfigResource, ResourceType

from forebay.kafka.admission import Admission
from forebay.kafka.settings import KafkaSettings


@dataclass(frozen=True, slots=True)
class Cluster:
    """The brokers of a cluster.

    Args:
        configs: configuration by broker id.
    """

    configs: Mapping[int, Mapping[str, str]]


def describe_brokers(settings: KafkaSettings, timeout_s: float) -> Cluster:
    """Return the brokers of the cluster with their configuration.

    Raises:
        KafkaForbidden: our principal lacks DescribeConfigs on the cluster. KafkaUnavailable, KafkaRefused.
    """
    admission = Admission(settings, timeout_s)
    try:
        nodes = admission.result(admission.client.describe_cluster(request_timeout=timeout_s)).nodes
        resources = [ConfigResource(ResourceType.BROKER, str(node.id)) for node in nodes]
        futures = admission.client.describe_configs(resources, request_timeout=timeout_s)
        answers = {int(resource.name): admission.result(future) for resource, future in futures.items()}
    except KafkaException as error:
        raise admission.failure(error, f"can't read the configuration of {admission.servers}") from error
    except TimeoutError:
        raise admission.silence() from None
    return Cluster(
        {node: {name: str(entry.value) for name, entry in entries.items()} for node, entries in sorted(answers.items())}
    )
