"""What ASSERT TOPIC demands of a topic, and how the topic differs."""

from __future__ import annotations

from forebay.sql.administration import AssertTopic


def difference_of(statement: AssertTopic, partitions: int, replicas: int) -> str:
    """Return why an assertion does not hold; "" if it does.

    Args:
        partitions: of the topic; 0: there is none.
        replicas: of the topic's least copied partition.
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
