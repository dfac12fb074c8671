"""Rows of replicas in files, from which a restarted query server resumes."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from forebay.runtime.changelog.sub_topology_log import SubTopologyLog
from forebay.runtime.protocol.position import TaskPosition
from forebay.stores.standby_tables import CopyTable, copy_file
from forebay.utils.private import make_private_directory

_FORMAT = 1


class FilesInUse(Exception):
    """Another process keeps its rows in this directory. The message names it, and the remedy."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The position of a table in a file.

    Args:
        stores: description of its stores. Another job, or other stores, can't use the rows.
        position: position of the last commit that it contains, as JSON.
        offsets: next offsets to read, by changelog.
        committed_ms: time of that commit, ms since the epoch.
        read_s: when the changelogs were last read, seconds since the epoch.
    """

    stores: str
    position: str
    offsets: dict[str, int]
    committed_ms: int
    read_s: float
    format: int = _FORMAT

    @property
    def tag(self) -> bytes:
        """The tag to store with the table: this position as JSON."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @property
    def found(self) -> TaskPosition:
        """The position of the last commit that the table contains."""
        return TaskPosition.from_json(self.position.encode())


def mark_of(table: CopyTable, log: SubTopologyLog, not_before_s: float) -> Mark | None:
    """Return the position of a table; None if reading can't resume there.

    Args:
        not_before_s: begin of the time for which the changelogs keep all deletes, seconds since the epoch.
    """
    try:
        mark = Mark(**json.loads(table.tag))
        _ = mark.found
    except (ValueError, TypeError, KeyError):
        return None
    fits = mark.format == _FORMAT and mark.stores == stores_of(log) and mark.offsets.keys() == set(log.rows().topics)
    return mark if fits and mark.read_s >= not_before_s else None


def stores_of(log: SubTopologyLog) -> str:
    """Return a text that describes the stores of a sub-topology."""
    return ", ".join(f"{store.name} {store.kind} {store.format}" for store in log.stores)


class Files:
    """The files of an application's replicas, in a directory that is locked for this process.

    Raises:
        FilesInUse: another process has locked it.
    """

    def __init__(self, directory: Path, application: str) -> None:
        make_private_directory(directory)
        self._directory = directory
        self._application = application
        self._lock: IO[str] = (directory / f"{application}.lock").open("a+", encoding="ascii")
        try:
            # The system releases the lock if the process dies, so a crash leaves no lock behind.
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock.seek(0)
            holder = self._lock.read().strip() or "another process"
            self._lock.close()
            raise FilesInUse(
                f"{directory} holds the rows of {holder}: use a separate directory for each query server"
            ) from error
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()}")
        self._lock.flush()

    def table(self, sub_topology: int, task: int) -> CopyTable:
        """Return the table of a task."""
        return CopyTable(copy_file(str(self._directory), self._application, sub_topology, task))

    def close(self) -> None:
        """Unlock the directory."""
        self._lock.close()
