"""A compacted input must keep its deletes for the longest downtime that the job must survive."""

from __future__ import annotations

import pytest

from forebay.kafka.topics import TopicDescription
from forebay.runtime.driver.compacted_inputs import compacted_too_soon

DAY_MS = 86_400_000


def topic(policy: str, lag: str | None) -> TopicDescription:
    config = {"cleanup.policy": policy, **({} if lag is None else {"min.compaction.lag.ms": lag})}
    return TopicDescription("prices", "id", 4, 1, config, frozenset())


@pytest.mark.parametrize(("policy", "lag"), [("delete", "0"), ("compact", str(DAY_MS)), ("compact,delete", "9" * 18)])
def test_a_topic_that_keeps_records_long_enough_is_accepted(policy: str, lag: str) -> None:
    assert compacted_too_soon([topic(policy, lag)], DAY_MS) == ""


@pytest.mark.parametrize(
    ("policy", "lag", "said"),
    [("compact", None, "0"), ("compact", "0", "0"), ("delete,compact", "86399999", "86399999")],
)
def test_a_number_that_does_not_fit_is_named_with_two_remedies(policy: str, lag: str | None, said: str) -> None:
    refused = compacted_too_soon([topic(policy, lag), topic("delete", "0")], DAY_MS)
    assert refused.startswith(f"the input prices is compacted with min.compaction.lag.ms={said}: ")
    assert f"--entity-name prices --add-config min.compaction.lag.ms={DAY_MS}" in refused
    assert refused.endswith(f"--max-downtime-ms {said}")
    assert "; " not in refused
