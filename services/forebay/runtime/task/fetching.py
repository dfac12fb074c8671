"""Reads the records of a group's next commit."""

from __future__ import annotations

from collections.abc import Callable

from forebay.runtime.task.pacing import Pacing
from forebay.runtime.task.ports import Reader
from forebay.runtime.task.state_task import StateTask

_AFTER_LOOK_SECONDS = 0.05
_STALE_SECONDS = 0.5


class Gathering:
    """Reads until a commit is due. If streams are merged, it also reads all records that have arrived by then.

    Args:
        looked: called after the reader has asked for the partitions' ends.
    """

    def __init__(
        self,
        tasks: list[StateTask],
        reader: Reader,
        pacing: Pacing,
        monotonic: Callable[[], float],
        looked: Callable[[], None] = lambda: None,
    ) -> None:
        self._tasks = tasks
        self._reader = reader
        self._pacing = pacing
        self._monotonic = monotonic
        self._looked = looked
        self._verifies = False
        self._looked_at = float("-inf")
        # A single sub-topology with one stream does not need the partitions' ends: it merges nothing, and no downstream
        # task relies on how far it has read.
        self._looks = any(len(task.settings.sends) or task.settings.sub_topology_number for task in tasks)

    def open(self, *, is_shared: bool = False) -> None:
        """Begin to read the tasks' inputs.

        Args:
            is_shared: whether other groups read the tasks' repartition records and rely on their announcements.
        """
        self._verifies = is_shared and any(task.settings.sends for task in self._tasks)
        inputs = [task.input for task in self._tasks]
        self._looks = self._looks or any(item.merges for item in inputs)
        # Reading begins at the committed positions. Records that an earlier loop of this process had read and not
        # committed are read again.
        self._reader.assign(inputs)
        self._pacing.start()

    def gather(self, seconds: float, *, left_records: bool) -> int:
        """Read until the next commit is due or nothing has arrived for `seconds`; return its largest number of records.

        Args:
            left_records: whether the last commit left records in the queues, so that the next one is due at once.
        """
        pacing, reader = self._pacing, self._reader
        pacing.begin(sum([task.waiting for task in self._tasks]), left_records=left_records)
        until, looked, is_fresh = self._monotonic() + seconds, False, False
        while True:
            wait = _AFTER_LOOK_SECONDS if looked else min(pacing.wait(), max(0.0, until - self._monotonic()))
            count = reader.read(wait, pacing.room)
            # The reader counts bytes, because a commit is limited by them, too, and the transaction must end in time.
            pacing.took(count, reader.bytes)
            reader.bytes = 0
            if looked and not is_fresh and self._is_stale:
                # The process was frozen. Some records that it has just read may have arrived long after it asked for
                # the ends, and earlier records of other partitions may still be unread.
                self._look()
                is_fresh = True
            elif looked:
                if pacing.is_spent or self._has_enough():
                    return pacing.most
            elif pacing.is_due(count):
                pacing.on_due()
                if not self._looks:
                    return pacing.most
                # All records buffered by now belong to this commit, so that streams are merged in order.
                self._look()
                looked = True
                if self._has_enough():
                    return pacing.most
            elif pacing.is_empty and self._monotonic() >= until:
                if not self._verifies or not self._is_stale:
                    return pacing.most
                # That no record has arrived does not prove that there is none: the process may have been frozen. With
                # the tasks' next announcements, readers in other groups would continue without these records.
                self._look()
                if self._has_what_was_there():
                    return pacing.most
                until = self._monotonic() + seconds

    @property
    def _is_stale(self) -> bool:
        return self._monotonic() - self._looked_at > _STALE_SECONDS

    def _look(self) -> None:
        # The time before the request: if the process freezes while it waits for the answer, the answer must count as
        # old.
        self._looked_at = self._monotonic()
        self._reader.look()
        self._looked()

    def _has_enough(self) -> bool:
        """Return whether the commit is full, or has all records before the ends that were asked for."""
        if self._pacing.is_loaded or not self._pacing.is_full:
            return self._pacing.is_loaded or self._has_what_was_there()
        # The last commit left enough records for this one. Repartition topics are still read to the end, because they
        # contain the upstream tasks' announcements. Otherwise a task with few records would wait until the backlog of
        # another task is processed.
        return all(partition.is_scanned for task in self._tasks for partition in task.input.repartitions)

    def _has_what_was_there(self) -> bool:
        has_all = self._reader.has_all
        return all(has_all(task.input) for task in self._tasks)
