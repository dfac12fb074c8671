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
from forebay.stores.copies import CopyTable, copy_file
from forebay.utils.private import make_private_directory

_FORMAT = 1


class FilesInUse(Exception):
    """Another process keeps its rows in this directory; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Where a table stands.

    Args:
        stores: what its rows are: another job, or other stores, can't use them.
        position: of the last batch it contains, JSON.
        offsets: next ones of its changelogs.
        committed_ms: when that batch was written; read_s: when the changelogs were read the last time, since 1970.
    """

    stores: str
    position: str
    offsets: dict[str, int]
    committed_ms: int
    read_s: float
    format: int = _FORMAT

    @property
    def tag(self) -> bytes:
        """The table's tag."""
        return json.dumps(asdict(self), separators=(",", ":")).encode()

    @property
    def found(self) -> TaskPosition:
        """The position."""
        return TaskPosition.from_json(self.position.encode())


def mark_of(table: CopyTable, log: SubTopologyLog, not_before_s: float) -> Mark | None:
    """Return a table's position; None: it can't be resumed.

    Args:
        not_before_s: time since when the changelogs keep all deletes, in seconds since 1970.
    """
    try:
        mark = Mark(**json.loads(table.tag))
        _ = mark.found
    except (ValueError, TypeError, KeyError):
        return None
    fits = mark.format == _FORMAT and mark.stores == stores_of(log) and mark.offsets.keys() == set(log.rows().topics)
    return mark if fits and mark.read_s >= not_before_s else None


def stores_of(log: SubTopologyLog) -> str:
    """Return what the rows of a sub-topology are, as text."""
    return ", ".join(f"{store.name} {store.kind} {store.format}" for store in log.stores)


class Files:
    """The files of an application's replicas, in a directory of this process alone.

    Raises:
        FilesInUse: another process has it.
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
                f"{directory} holds the rows of {holder}: give each query server a directory of its own"
            ) from error
        self._lock.truncate(0)
        self._lock.write(f"process {os.getpid()}")
        self._lock.flush()

    def table(self, sub_topology: int, task: int) -> CopyTable:
        """Return the table of a task."""
        return CopyTable(copy_file(str(self._directory), self._application, sub_topology, task))

    def close(self) -> None:
        """Let others have the directory."""
        self._lock.close()
