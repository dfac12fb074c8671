"""Names of a job's groups, transactional ids and special topics, shared by the job and its ACLs."""

from __future__ import annotations


def marker_group(application: str) -> str:
    """Return the consumer group with the offsets and markers that the tasks commit."""
    return f"{application}-marker"


def probe_group(application: str) -> str:
    """Return the group id of consumers that only inspect partitions. It needs no right, as nothing is committed."""
    return f"{application}-probe"


def transactional_id(application: str, group: int) -> str:
    """Return the transactional id of a task group."""
    return f"{transactional_prefix(application)}{group}"


def transactional_prefix(application: str) -> str:
    """Return the prefix of a job's transactional ids, which the task group's number follows."""
    return f"{application}-group-"


def control_group(application: str) -> str:
    """Return the consumer group in whose offset metadata driver and workers exchange messages."""
    return f"{application}-control"


def restore_group(application: str) -> str:
    """Return the consumer group whose offsets show how far a restore has read."""
    return f"{application}-restore"


def standby_group(application: str) -> str:
    """Return the consumer group of the job's standbys."""
    return f"{application}-standby"


def queries_group(application: str) -> str:
    """Return the consumer group of the job's query servers."""
    return f"{application}-queries"


def replay_group(application: str) -> str:
    """Return the consumer group with the position of `forebay errors replay`, which is its transactional id, too."""
    return f"{application}-replay"


def rescale_topic(application: str) -> str:
    """Return the name of the topic that holds a job's state while its number of tasks changes."""
    return f"{application}-rescale"


TAIL_GROUP = "forebay-tail"
"""The group id of `forebay tail`. It needs no right, as nothing is committed."""
