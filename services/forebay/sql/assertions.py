"""Checks of topics by ASSERT TOPIC."""

from __future__ import annotations

from forebay.sql.administration import AssertTopic


def difference_of(statement: AssertTopic, partitions: int, replicas: int) -> str:
    """Return the reason why an assertion fails, or "" if it holds.

    Args:
        statement: The assertion.
        partitions: Number of the topic's partitions, or 0 if the topic does not exist.
        replicas: Smallest number of replicas of a partition.
    """
    topic = statement.topic
    if not statement.exists:
        return f"ASSERT: the topic {topic} exists: delete it, or take this statement out" if partitions else ""
    if not partitions:
        return f"ASSERT: there is no topic {topic}: create it, or take this statement out"
    for option, has in (("PARTITIONS", partitions), ("REPLICAS", replicas)):
        wanted = statement.options.get(option, has)
        if wanted != has:
            return f"ASSERT: the topic {topic} has {option} = {has}, not {wanted}: change one of them"
    return ""
