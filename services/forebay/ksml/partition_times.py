"""The partition time that a timestamp extractor gets as `previousTimestamp`."""

from __future__ import annotations

from bisect import bisect_left

_UNKNOWN = -1
_MAX_STEPS = 100_000


class PartitionTimes:
    """The highest timestamp extracted so far from each partition of a topic, as in Kafka Streams' RecordQueue.

    Records that are processed again after a failed commit get the same partition time as the first time. So each
    increase is remembered with its offset, up to a number of increases that is larger than a commit.
    """

    def __init__(self) -> None:
        self._steps: dict[int, tuple[list[int], list[int]]] = {}

    def before(self, partition: int, offset: int) -> int:
        """Return the highest timestamp (ms) of the records before `offset`, or -1 if no record has one."""
        steps = self._steps.get(partition)
        if steps is None:
            steps = self._steps[partition] = ([], [])
        offsets, times = steps
        if offsets and offsets[-1] >= offset:
            keep = bisect_left(offsets, offset)
            del offsets[keep:], times[keep:]
        return times[-1] if times else _UNKNOWN

    def advance(self, partition: int, offset: int, timestamp: int) -> None:
        """Note the timestamp (ms) of the record at `offset`. A negative one has no effect, as in Kafka Streams."""
        offsets, times = self._steps[partition]
        if timestamp > (times[-1] if times else _UNKNOWN):
            offsets.append(offset)
            times.append(timestamp)
            if len(offsets) > _MAX_STEPS:
                del offsets[: _MAX_STEPS // 2], times[: _MAX_STEPS // 2]
