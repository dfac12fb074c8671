"""The partition time that a timestamp extractor receives as `previousTimestamp`."""

from __future__ import annotations

from bisect import bisect_left

_UNKNOWN = -1
_MAX_STEPS = 100_000


class PartitionTimes:
    """The highest timestamp extracted so far from each partition of a topic, as in Kafka Streams' RecordQueue.

    Records that are processed again after a failed commit get the same partition time as the first time. So each
    increase is stored with its offset, up to a number of increases that is larger than a commit. After a restart, the
    time of a partition is unknown. Until it has a later one, it is the stream time of the task, which is the same if
    the task reads one partition.
    """

    def __init__(self) -> None:
        self._steps: dict[int, tuple[list[int], list[int]]] = {}
        self._initial = _UNKNOWN

    def resume_after_commit(self, stream_time: int) -> None:
        """Use the stream time of a task that was opened (ms) for partitions whose time is unknown."""
        # The partition times of a task that repeats a commit are known.
        if not self._steps:
            self._initial = stream_time

    def before(self, partition: int, offset: int) -> int:
        """Return the highest timestamp (ms) of the records before `offset`, or -1 if there is no such record."""
        steps = self._steps.get(partition)
        if steps is None:
            steps = self._steps[partition] = ([], [])
        offsets, times = steps
        if offsets and offsets[-1] >= offset:
            keep = bisect_left(offsets, offset)
            del offsets[keep:], times[keep:]
        return times[-1] if times else self._initial

    def advance(self, partition: int, offset: int, timestamp: int) -> None:
        """Record the timestamp (ms) of the record at `offset`. A negative one has no effect, as in Kafka Streams."""
        offsets, times = self._steps[partition]
        if timestamp > (times[-1] if times else self._initial):
            offsets.append(offset)
            times.append(timestamp)
            if len(offsets) > _MAX_STEPS:
                del offsets[: _MAX_STEPS // 2], times[: _MAX_STEPS // 2]
