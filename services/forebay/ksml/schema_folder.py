"""The folder of the contracts of a job of definitions: the definitions' own, or a temporary one with all contracts."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from forebay.utils.private import make_private_directory

_SUFFIX = ".avsc"


def contracts_folder(contracts: Mapping[str, str], folders: Sequence[Path]) -> Path:
    """Return a folder with all Avro schemas that definitions use, by the names of their records.

    Schemas of several folders, of files with other names, and of a registry are copied into a temporary folder of this
    machine, which each process of the job finds or creates.

    Args:
        contracts: texts of the schemas, by name.
        folders: folders in which schemas are looked up.
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
    """Return this user's temporary folder with a name; a new one if it belongs to another user."""
    folder = Path(tempfile.gettempdir()) / f"forebay-ksml-{os.getuid()}" / name
    make_private_directory(folder.parent)
    make_private_directory(folder)
    if any(path.is_symlink() or path.stat().st_uid != os.getuid() for path in (folder.parent, folder)):
        return Path(tempfile.mkdtemp(prefix="forebay-ksml-"))
    return folder
