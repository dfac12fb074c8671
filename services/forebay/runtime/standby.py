"""A standby: keeps warm copies of a job's tables, each as of one committed batch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forebay.catalog import Service
from forebay.kafka.identities import standby_group
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog_reader import ChangelogRows
from forebay.runtime.committed import CommittedPosition
from forebay.runtime.follower import FollowedTask, Follower, Offsets, count_followed, follower_of
from forebay.runtime.stage_log import stage_logs
from forebay.stores.copies import CopyTable, copy_file

_QUIET_ROUNDS = 10


class TaskCopy(FollowedTask):
    """One task's copy.

    It stays one batch behind what is committed: the job's state may not contain the latest yet, and a copy that is
    ahead of the state is of no use to it. Once nothing has come for a while, the state has the latest too.

    Args:
        rows: of the task's stage.
    """

    def __init__(self, table: CopyTable, rows: ChangelogRows) -> None:
        super().__init__(rows)
        self.table = table
        self._ended: tuple[Offsets, CommittedPosition] | None = None
        self._quiet = 0

    @property
    def row_count(self) -> int:
        return len(self.table)

    def batches_end(self, ends: Offsets) -> int:
        """Apply the batches before the last; the last one after ten calls that brought no other."""
        found = self._newest(ends)
        self._quiet = self._quiet + 1 if found is None else 0
        if found is None and self._quiet < _QUIET_ROUNDS:
            return -1
        ready, self._ended = self._ended, None if found is None else (ends, found)
        if ready is None:
            return -1
        until, position = ready
        self.table.apply(self._changes(until).items(), bytes.fromhex(position.marker.tag))
        return position.marker.batch


def standby_of(
    kafka: KafkaSettings, service: Service, application: str, logic: Mapping[str, Any], directory: str
) -> Follower:
    """Give the standby of a job, its copies in `directory`. Raises TopicMissing: there are no changelogs."""
    logs = stage_logs(service, application, logic)
    copies = [
        (task, TaskCopy(open_copy(copy_file(directory, application, stage, task)), log.rows()))
        for task in range(count_followed(kafka, logs[0]))
        for stage, log in enumerate(logs)
    ]
    return follower_of(kafka, standby_group(application), copies)


def open_copy(file: Path) -> CopyTable:
    """Give an empty copy in `file`, whatever was there."""
    for leftover in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        leftover.unlink(missing_ok=True)
    return CopyTable(file)
