"""A small disk for a checkpoint that can be filled, freed, slowed down and stalled."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path

SIZE_MB = 48
_CHUNK = 1 << 16


class NotPermitted(Exception):
    """This machine can't provide a small disk, for the reason in the message."""


class SmallDisk:
    """An ext4 file system in a file, mounted so that each write waits for the device (`sync`).

    Args:
        image: File for the file system. It must not exist yet.
        place: Mount point. It must not exist yet.
        throttled: Whether the speed of the disk will be changed.

    Raises NotPermitted if it can't be mounted or throttled, which requires root.
    """

    def __init__(self, image: Path, place: Path, *, throttled: bool) -> None:
        self.place = place
        self._ballast = place / "ballast"
        self._is_stalled = False
        self._throttle = _throttle() if throttled else None
        place.mkdir(parents=True)
        with image.open("wb") as file:
            file.truncate(SIZE_MB << 20)
        _run("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(image))
        _run("mount", "-o", "loop,sync", str(image), str(place))

    def fill(self) -> int:
        """Fill the disk to the last byte, and return the number of bytes written."""
        written = 0
        with self._ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    written += file.write(b"\0" * _CHUNK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
        return written

    def free(self) -> None:
        """Free the space."""
        self._ballast.unlink(missing_ok=True)

    def slow(self, writes_per_second: int) -> None:
        """Limit the device's writes per second. 0 removes the limit."""
        assert self._throttle is not None
        device = self.place.stat().st_dev
        number = f"{os.major(device)}:{os.minor(device)}"
        if self._throttle.name == "io.max":
            self._throttle.write_text(f"{number} wiops={writes_per_second or 'max'}\n")
        else:
            self._throttle.write_text(f"{number} {writes_per_second}\n")

    def stall(self) -> None:
        """Block every write until `thaw`, like a disk that no longer responds. Reads continue."""
        _run("fsfreeze", "--freeze", str(self.place))
        self._is_stalled = True

    def thaw(self) -> None:
        """Let blocked writes continue."""
        if self._is_stalled:
            _run("fsfreeze", "--unfreeze", str(self.place))
            self._is_stalled = False

    def close(self) -> None:
        """Unmount the disk and delete its content."""
        self.thaw()
        if self._throttle is not None:
            self.slow(0)
        subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True, timeout=60)


def _throttle() -> Path:
    """Return the file that limits a device's writes for this process and its children."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        result = (
            Path(f"/sys/fs/cgroup/blkio{path}", "blkio.throttle.write_iops_device")
            if "blkio" in controllers.split(",")
            else Path(f"/sys/fs/cgroup{path}", "io.max")
        )
        if os.access(result, os.W_OK):
            return result
    raise NotPermitted("a disk can't be made slow: no cgroup that limits input and output can be written")


def _run(*command: str) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.SubprocessError) as error:
        reason = getattr(error, "stderr", "") or str(error)
        raise NotPermitted(f"a small disk can't be mounted: {reason.strip()}") from error
