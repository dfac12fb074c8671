"""End the leases of a running job so that others follow, as its driver does when executors join."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, TopicPartition

from forebay.kafka.identities import control_group
from forebay.kafka.settings import KafkaSettings


def change_leases(settings: KafkaSettings, application: str, topic: str, clock_shift_ms: int = 0) -> None:
    """Commit the command to the control group.

    Args:
        settings: Connection to the broker.
        application: Application id of the job.
        topic: First input of the job.
        clock_shift_ms: Time (ms) by which the job's clock is ahead.
    """
    now = time.time_ns() // 1_000_000 + clock_shift_ms
    control = Consumer(settings.consumer(**{"group.id": control_group(application)}))
    control.commit(offsets=[TopicPartition(topic, 0, now, "followed")], asynchronous=False)
    control.close()
