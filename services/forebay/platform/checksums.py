"""The recorded SHA-256 checksums of the downloaded jars, because repositories and mirrors are not trusted."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from forebay.platform.errors import PlatformError

RECORD = Path(__file__).with_name("checksums.txt")
"""A file in sha256sum's format: digest, two spaces, file name."""


def _read(text: str) -> dict[str, str]:
    return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}


RECORDED: Mapping[str, str] = _read(RECORD.read_text(encoding="utf-8"))


def is_recorded(file: Path) -> bool:
    """Return whether a file has the checksum that is recorded for its name."""
    return RECORDED.get(file.name) == _digest(file)


def mismatch(file: Path) -> PlatformError:
    """Return the error to raise for a file with a wrong checksum. The file is kept for inspection."""
    expected = RECORDED.get(file.name)
    digest = _digest(file)
    if expected is None:
        return PlatformError(
            f"{file} (SHA-256 {digest}) is not one of the recorded files: the repository has other dependencies "
            "than Maven Central. Check the mirror in ~/.m2/settings.xml."
        )
    return PlatformError(
        f"{file} has the SHA-256 {digest}, recorded is {expected}: it is not what was published. Don't use it; look at "
        "the mirror in ~/.m2/settings.xml, delete the file and run the command again."
    )


def lines_of(files: Iterable[Path]) -> str:
    """Return the lines to record for files."""
    digests = {file.name: _digest(file) for file in files}
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(digests.items()))


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
