"""A standby, which keeps copies of a job's tables up to date, each as of one commit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from forebay.catalog import Service
from forebay.kafka.identities import standby_group
from forebay.kafka.settings import KafkaSettings
from forebay.runtime.changelog.sub_topology_log import sub_topology_logs
from forebay.runtime.changelog.topics import ChangelogRows
from forebay.runtime.maintenance.follower import FollowedTask, Follower, Offsets, count_followed, follower_of
from forebay.stores.kinds import PREFIX
from forebay.stores.standby_tables import CopyTable, copy_file
from forebay.stores.upgrade import row_value_of


class TaskCopy(FollowedTask):
    """One task's copy, as of its last complete commit.

    Args:
        rows: converts records of the sub-topology's changelogs to rows.
    """

    def __init__(self, table: CopyTable, rows: ChangelogRows) -> None:
        super().__init__(rows)
        self.table = table

    @property
    def row_count(self) -> int:
        return len(self.table)

    def _rows_after(self, changes: Mapping[bytes, bytes | None]) -> ChangelogRows:
        """Read a store's records in the format that its job wrote, because a standby may be of another release.

        A conversion writes all rows again in one commit, so earlier records don't count.
        """
        return self._rows.of_formats(
            {
                store: row_value_of(kind.decode())
                for store in self._rows.stores
                if (kind := changes.get(PREFIX + store.encode()))
            }
        )

    def batches_end(self, ends: Offsets) -> int:
        """Apply all commits before `ends`."""
        newest = self._newest(ends)
        if newest is None:
            return -1
        self.table.apply(self._changes(ends).items(), newest.tag)
        return newest.n


def standby_of(
    kafka: KafkaSettings, service: Service, application: str, logic: Mapping[str, Any], directory: str
) -> Follower:
    """Return the standby of a job, with copies in `directory`. Raises TopicMissing: the job has no changelogs."""
    logs = sub_topology_logs(service, application, logic)
    copies = [
        (task, TaskCopy(open_copy(copy_file(directory, application, sub_topology, task)), log.rows()))
        for task in range(count_followed(kafka, logs[0]))
        for sub_topology, log in enumerate(logs)
    ]
    return follower_of(kafka, standby_group(application), copies)


def open_copy(file: Path) -> CopyTable:
    """Return an empty copy in `file`, which replaces any existing file."""
    # A standby reads the changelogs from the beginning, so rows of an earlier run would stay although they were deleted
    # since.
    for leftover in (file, file.with_name(f"{file.name}-wal"), file.with_name(f"{file.name}-shm")):
        leftover.unlink(missing_ok=True)
    return CopyTable(file)
