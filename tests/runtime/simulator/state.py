"""An in-memory store of snapshots, with the failures of file systems and object stores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count

from forebay.runtime.snapshots.storage import SnapshotFiles


def _nothing(_point: str) -> None:
    return


@dataclass
class Store:
    """Files by path; `storage` gives a worker its view of them.

    Args:
        now: Returns the time in seconds.
        lateness: Returns the time (s) for which a new file is not listed.
        is_torn: Returns whether a worker that crashes during a write leaves half of the file.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    now: Callable[[], float] = lambda: 0.0
    lateness: Callable[[], float] = lambda: 0.0
    is_torn: Callable[[], bool] = lambda: False
    listed_at: dict[str, float] = field(default_factory=dict)
    writers: count[int] = field(default_factory=lambda: count(1))

    def storage(self, checkpoint: str = "c1", at: Callable[[str], None] = _nothing) -> SnapshotFiles:
        """Return a new writer's storage.

        Args: at: called with the name of each point before its operation.
        """
        return SnapshotFiles(MemoryFiles(self, at), checkpoint, next(self.writers))

    def copy(self) -> Store:
        """Return a store with the same files."""
        return Store(dict(self.files))


@dataclass
class MemoryFiles:
    """A store as one worker sees it (implements `Files`)."""

    store: Store
    at: Callable[[str], None] = _nothing

    def list(self, folder: str) -> list[str]:
        self.at("state.list")
        now, listed_at = self.store.now(), self.store.listed_at
        return [
            path.rpartition("/")[2]
            for path in self.store.files
            if path.startswith(f"{folder}/") and listed_at.get(path, now) <= now
        ]

    def read(self, path: str) -> bytes:
        self.at("state.read")
        if path not in self.store.files:
            raise FileNotFoundError(path)
        return self.store.files[path]

    def write(self, path: str, data: bytes) -> None:
        try:
            self.at("state.block" if path.endswith(".block") else "state.write")
        except BaseException:
            if self.store.is_torn():
                self.store.files[path] = data[: len(data) // 2]
            raise
        self.store.files[path] = data
        self.store.listed_at[path] = self.store.now() + self.store.lateness()

    def delete(self, path: str) -> None:
        self.at("state.delete")
        self.store.files.pop(path, None)

    def exists(self, path: str) -> bool:
        return path in self.store.files
