"""Functions that create, check, lock and delete the platform's directory."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from forebay.platform.errors import PlatformError
from forebay.utils.private import make_private_directory

STATE_FILE = "platform.json"
NEEDED_BYTES = 512 * 1024 * 1024


def default_home() -> Path:
    """Return FOREBAY_HOME, or .forebay in the working directory."""
    return Path(os.environ.get("FOREBAY_HOME") or ".forebay").absolute()


def make_home(home: Path) -> None:
    """Create the directory, and check that it can be written and has enough space.

    Raises:
        PlatformError: it can't be created or written, or less than 512 MB are free.
    """
    try:
        make_private_directory(home)
        make_private_directory(home / "logs")
        probe = home / ".probe"
        probe.write_bytes(b"")
        probe.unlink()
        free = shutil.disk_usage(home).free
    except OSError as error:
        raise unwritable(home, error) from error
    if free < NEEDED_BYTES:
        raise PlatformError(
            f"only {free / 1_000_000:.0f} MB are free under {home}, {NEEDED_BYTES / 1_000_000:.0f} MB are needed: "
            "free space, or choose another directory with --home or FOREBAY_HOME."
        )


def unwritable(home: Path, error: OSError) -> PlatformError:
    """Return the error to raise if writing to `home` failed."""
    return PlatformError(
        f"can't write under {home} ({error.strerror}): "
        "make it writable, or choose another directory with --home or FOREBAY_HOME."
    )


@contextmanager
def lock(home: Path) -> Iterator[None]:
    """Lock the platform while the block runs, so that no other command starts or stops it.

    Raises:
        PlatformError: another command has locked it, or the directory can't be written.
    """
    try:
        lock = (home / "lock").open("wb")
    except OSError as error:
        raise unwritable(home, error) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PlatformError(
                f"another forebay command is starting or stopping the platform in {home}: let it finish first."
            ) from error
        yield


def delete_home(home: Path) -> None:
    """Delete the directory with all its data.

    Raises:
        PlatformError: it is not a platform's directory, or it can't be deleted.
    """
    if not (home / STATE_FILE).is_file():
        raise PlatformError(f"{home} holds no platform ({STATE_FILE} is missing): nothing was deleted.")
    try:
        shutil.rmtree(home)
    except OSError as error:
        raise PlatformError(f"can't delete {home} ({error.strerror}): delete the rest by hand.") from error
