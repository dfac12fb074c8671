"""If the partitions of the job's internal topics don't match the number of tasks, the error names the remedy."""

from __future__ import annotations

import pytest

from forebay.runtime.driver.prepare import TopicsUnfit, refuse_partitions

CREATE = "forebay topics create counts --tasks 4"


def test_topics_with_a_partition_for_each_task_are_accepted() -> None:
    refuse_partitions({"app-0-task": 4, "app-counts-changelog": 4}, 4, CREATE)


def test_another_number_of_tasks_is_refused_with_the_old_number() -> None:
    with pytest.raises(TopicsUnfit) as refused:
        refuse_partitions({"app-0-task": 2, "app-counts-changelog": 2}, 4, CREATE)
    assert "have 2 partitions each" in str(refused.value)
    assert "Start it with --tasks 2; `forebay rescale` changes the number of tasks" in str(refused.value)


@pytest.mark.parametrize(
    "own",
    [
        {"app-0-task": 4, "app-1-task": 2, "app-words-repartition": 2, "app-counts-changelog": 2},
        {"app-0-task": 4, "app-counts-changelog": 8},
        {"app-0-task": 3, "app-1-task": 2},
    ],
    ids=["a sub-topology", "a store", "all topics, from two times"],
)
def test_a_returning_topic_with_another_number_of_partitions_must_be_deleted(own: dict[str, int]) -> None:
    with pytest.raises(TopicsUnfit) as refused:
        refuse_partitions(own, 4, CREATE)
    for topic, partitions in own.items():
        assert (f"{topic} ({partitions} partitions)" in str(refused.value)) == (partitions != 4)
    assert f"Delete these topics, then run `{CREATE}`" in str(refused.value)
    assert "--tasks 2" not in str(refused.value)
