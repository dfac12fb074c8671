"""Groups, transactional ids and odd topics of a job: named here, so that what it uses and what it is allowed agree."""

from __future__ import annotations


def marker_group(application: str) -> str:
    """Give the consumer group that holds the markers: read back, reserved."""
    return f"{application}-marker"


def lag_group(application: str) -> str:
    """Give the consumer group for lag tools: written only."""
    return application


def probe_group(application: str) -> str:
    """Give the consumer group that looks into partitions: a name only, it needs no right."""
    return f"{application}-probe"


def transactional_prefix(application: str, stage: int) -> str:
    """Give what the transactional ids of a stage's tasks begin with; the task's number follows."""
    return f"{application}-{stage}-"


def transactional_id(application: str, stage: int, task: int) -> str:
    """Give the transactional id of a task."""
    return f"{transactional_prefix(application, stage)}{task}"


def restore_group(application: str) -> str:
    """Give the consumer group that tells how far a restore has read."""
    return f"{application}-restore"


def standby_group(application: str) -> str:
    """Give the consumer group of the job's standbys."""
    return f"{application}-standby"


def queries_group(application: str) -> str:
    """Give the consumer group of the job's query servers."""
    return f"{application}-queries"


def rescale_topic(application: str) -> str:
    """Give the name of the topic that holds a job's state while its number of tasks changes."""
    return f"{application}-rescale"


TAIL_GROUP = "forebay-tail"
"""The consumer group of `forebay tail`: a name only, it needs no right."""
