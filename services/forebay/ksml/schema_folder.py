"""The folder where a job of definitions finds its contracts: the definitions' own, or one made of all they use."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from forebay.utils.private import make_private_directory

_SUFFIX = ".avsc"


def contracts_folder(contracts: Mapping[str, str], folders: Sequence[Path]) -> Path:
    """Return the folder that has all Avro schemas which definitions use, each by its record's name.

    Schemas of several folders, of files with other names, and those of a registry are copied into one of this
    machine's temporary folders: each process of the job finds or makes it by itself.

    Args:
        contracts: their texts, by name.
        folders: where schemas are looked for.
    """
    for folder in folders:
        if all(_is(folder / f"{name}{_SUFFIX}", text) for name, text in contracts.items()):
            return folder.resolve()
    private_folder = _private(hashlib.blake2b(repr(sorted(contracts.items())).encode(), digest_size=10).hexdigest())
    for name, text in contracts.items():
        file = private_folder / f"{name}{_SUFFIX}"
        if not _is(file, text):
            part = private_folder / f".{name}.{os.getpid()}"
            part.write_text(text, encoding="utf-8")
            part.replace(file)
    return private_folder


def _is(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text(encoding="utf-8") == text


def _private(name: str) -> Path:
    """Return a folder of this user's for the name; a new one where another user has taken it."""
    folder = Path(tempfile.gettempdir()) / f"forebay-ksml-{os.getuid()}" / name
    make_private_directory(folder.parent)
    make_private_directory(folder)
    if any(path.is_symlink() or path.stat().st_uid != os.getuid() for path in (folder.parent, folder)):
        return Path(tempfile.mkdtemp(prefix="forebay-ksml-"))
    return folder
