"""A small disk of its own for a checkpoint, that can be filled and freed."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

SIZE_MB = 48
_CHUNK = 1 << 16


class NotPermitted(Exception):
    """No file system can be mounted here; says why."""


class SmallDisk:
    """A tmpfs. Raises NotPermitted where it can't be mounted (it takes root)."""

    def __init__(self, place: Path) -> None:
        place.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "forebay-faults", str(place)]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.SubprocessError) as error:
            reason = getattr(error, "stderr", "") or str(error)
            raise NotPermitted(f"a small disk can't be mounted: {reason.strip()}") from error
        self.place = place
        self._ballast = place / "ballast"

    def fill(self) -> int:
        """Fill it to the last byte; give the number of bytes it took."""
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
        """Make room again."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmount it, and whatever it holds is gone."""
        subprocess.run(["umount", "-l", str(self.place)], check=False, capture_output=True, timeout=20)
