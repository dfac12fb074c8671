"""Assertions about the position that a task is about to commit."""

from __future__ import annotations

from forebay.runtime.protocol.position import TaskPosition


def check_progress(name: str, before: TaskPosition, position: TaskPosition) -> None:
    """Assert that neither times nor offsets go back: records would be processed twice, and timers fire twice.

    Args:
        name: name of the task.
    """
    n = position.n
    assert position.stream_time >= before.stream_time, f"{name}: stream time goes back in commit {n}"
    assert position.closing_time >= before.closing_time, f"{name}: closing time goes back in commit {n}"
    ends = {(topic, partition): end for topic, partition, end in before.ends}
    back = [(topic, at) for topic, at, end in position.ends if end < ends.get((topic, at), 0)]
    assert not back, f"{name}: offsets of {back} go back in commit {n}"
    # `stand_at` asserts the same of the inputs: a partition that is left out would be read from its beginning.
    lost = ends.keys() - {(topic, partition) for topic, partition, _ in position.ends}
    assert not lost, f"{name}: the offsets of {sorted(lost)} are missing in commit {n}"
