"""Detects from the broker's data whether a job runs, for commands that must not run at the same time."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import IsolationLevel
from confluent_kafka.admin import AdminClient

from forebay.kafka.admin import TopicAdmin
from forebay.kafka.partition_ends import Place, partition_ends
from forebay.kafka.retrying import keep_trying
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.topics import internal_topic
from forebay.runtime.errors import StopJob

WATCH_SECONDS = 3.0
_PATIENCE_SECONDS = 30.0

Look = Callable[[IsolationLevel], dict[Place, int]]
"""Returns the ends of the job's internal changelogs, to which each of its transactions writes."""


class JobRuns(StopJob):
    """The job runs. The message names the evidence."""


def refuse_running(
    kafka: KafkaSettings, application: str, sub_topologies: int, pause: Callable[[float], None] = time.sleep
) -> None:
    """Refuse to continue while a job commits, wherever it runs.

    An idle job commits nothing, so only the lock of its checkpoint shows that it runs.

    Raises:
        JobRuns: the job has an open transaction, or has committed during the check. Unavailable.
    """
    partition_counts = TopicAdmin(kafka).partitions(
        internal_topic(application, sub_topology) for sub_topology in range(sub_topologies)
    )
    places = [(topic, partition) for topic, partitions in partition_counts.items() for partition in range(partitions)]
    admin, whose = AdminClient(kafka.admin()), "the changelogs'"

    def look(isolation: IsolationLevel) -> dict[Place, int]:
        # New partitions, and those of a broker that just came back, have no leader for a moment.
        return keep_trying(lambda: partition_ends(admin, places, isolation, whose), _PATIENCE_SECONDS)

    sign = sign_of_life(look, pause) if places else ""
    if sign:
        raise JobRuns(
            f"the job {application} runs: {sign}: stop it first. If it was killed, the broker aborts its "
            "transaction after --transaction-timeout-ms (a minute by default): wait that long"
        )


def sign_of_life(look: Look, pause: Callable[[float], None]) -> str:
    """Return the evidence within WATCH_SECONDS that a job runs; "" if there is no evidence."""
    before = look(IsolationLevel.READ_UNCOMMITTED)
    stable = look(IsolationLevel.READ_COMMITTED)
    for place, end in before.items():
        if stable[place] < end:
            return f"{place[0]}-{place[1]} has a transaction open at offset {stable[place]}"
    pause(WATCH_SECONDS)
    for place, end in look(IsolationLevel.READ_UNCOMMITTED).items():
        if end != before[place]:
            return f"{place[0]}-{place[1]} grew from {before[place]} to {end} within {WATCH_SECONDS:.0f} s"
    return ""
