"""Groups, transactional ids and odd topics of a job: named here, so that what it uses and what it is allowed agree."""

from __future__ import annotations


def marker_group(application: str) -> str:
    """Return the consumer group that holds the markers: read back, reserved."""
    return f"{application}-marker"


def probe_group(application: str) -> str:
    """Return the consumer group that looks into partitions: a name only, it needs no right."""
    return f"{application}-probe"


def transactional_id(application: str, group: int) -> str:
    """Return the transactional id of a task group."""
    return f"{transactional_prefix(application)}{group}"


def transactional_prefix(application: str) -> str:
    """Return what the transactional ids of a job begin with; the group's number follows."""
    return f"{application}-group-"


def control_group(application: str) -> str:
    """Return the consumer group by whose offsets' metadata driver and workers talk."""
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
    """Return the consumer group that holds which failed records were sent again; a transactional id as well."""
    return f"{application}-replay"


def rescale_topic(application: str) -> str:
    """Return the name of the topic that holds a job's state while its number of tasks changes."""
    return f"{application}-rescale"


TAIL_GROUP = "forebay-tail"
"""The consumer group of `forebay tail`: a name only, it needs no right."""
